import { badBody, badRequest, type Refusal } from './envelope';
import { effectiveLimit } from './generation-request';
import { isJsonObject, type JsonObject } from './raw-json';

function toolNames(tools: unknown): unknown[] {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool) =>
    isJsonObject(tool) && isJsonObject(tool['function']) ? tool['function']['name'] : undefined,
  );
}

/**
 * What vLLM refuses of a forced tool call. With a limit of one token the call it must write is a fragment that
 * it cannot parse afterwards (vLLM pull 36883 and issue 38911).
 */
export function refuseTools(body: JsonObject): Refusal | undefined {
  const choice = body['tool_choice'];
  const named = isJsonObject(choice);
  if (choice !== 'required' && !named) return undefined;
  if (!Array.isArray(body['tools']) || body['tools'].length === 0) {
    return badBody('When using `tool_choice`, `tools` must be set.', 'tool_choice');
  }
  const wanted = named && isJsonObject(choice['function']) ? choice['function']['name'] : undefined;
  if (named && !toolNames(body['tools']).includes(wanted)) {
    return badBody('The tool specified in `tool_choice` does not match any of the `tools`.', 'tool_choice');
  }
  if (effectiveLimit('chat', body) === 1) {
    return badRequest('1 validation error for list[function-wrap]: Invalid JSON: EOF while parsing');
  }
  return undefined;
}
