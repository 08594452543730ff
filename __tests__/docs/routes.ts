/** The routes that the docs may name, as `METHOD /path`. That they are all that there are is asked of the code. */
export const ROUTES: readonly RegExp[] = [
  /^POST (\/llm)?\/v1\/(chat\/)?completions$/,
  /^GET (\/llm)?\/v1\/models$/,
  /^GET (\/llm)?\/(health|ready|metrics)$/,
  /^GET (\/llm)?\/narwhal(\/|\/state|\/events)?$/,
  /^POST (\/llm)?\/narwhal\/engines\/[:\w]+\/(drain|readmit)$/,
];
