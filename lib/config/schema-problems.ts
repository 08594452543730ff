/** Pure: ajv's errors as one line of plain English each, led by the path of the field. */
import type { ErrorObject } from 'ajv';
import { nearest } from '../options';

/** Keys that read well after a dot. */
const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/**
 * @param errors what ajv found, with `verbose` on (the parent schema names the known keys).
 * @returns lines such as `serving.max_connections: must be a whole number`, in ajv's order.
 */
export function schemaProblems(errors: readonly ErrorObject[]): string[] {
  const lines = errors.map((error) => {
    const steps = pointerSteps(error.instancePath);
    const { missingProperty, additionalProperty } = error.params as Record<string, unknown>;
    if (typeof missingProperty === 'string') steps.push(missingProperty);
    if (typeof additionalProperty === 'string') steps.push(additionalProperty);
    return `${fieldPath(steps)}: ${messageOf(error)}`;
  });
  return [...new Set(lines)];
}

/**
 * @param steps keys and indexes from the root; digits alone count as an index.
 * @returns `engines[1].url`; the root is `fleet`.
 */
export function fieldPath(steps: readonly string[]): string {
  if (steps.length === 0) return 'fleet';
  let path = '';
  for (const step of steps) {
    if (/^\d+$/.test(step)) path += `[${step}]`;
    else if (!PLAIN_KEY.test(step)) path += `[${JSON.stringify(step)}]`;
    else path += path === '' ? step : `.${step}`;
  }
  return path;
}

/** RFC 6901: `~1` is a slash, `~0` a tilde, in this order. */
function pointerSteps(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function messageOf(error: ErrorObject): string {
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return unknownKey(String(params['additionalProperty']), error.parentSchema);
    case 'type':
      return `must be ${typeText(params['type'])}`;
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`;
    case 'enum':
      return `must be ${wordsText(params['allowedValues'] as readonly unknown[])}`;
    case 'exclusiveMinimum':
      return params['limit'] === 0 ? 'must be above 0' : `must be above ${String(params['limit'])}`;
    case 'minimum':
      return `must be at least ${String(params['limit'])}`;
    case 'maximum':
      return `must be at most ${String(params['limit'])}`;
    case 'minItems':
    case 'minLength':
      return 'must not be empty';
    case 'pattern':
      return 'must be 1 to 64 printable ASCII characters, with no blank at either end';
    default:
      return error.message ?? 'is not valid';
  }
}

function unknownKey(key: string, parent: unknown): string {
  const { properties } = parent as { readonly properties: Record<string, unknown> };
  const near = nearest(key, Object.keys(properties));
  return near === undefined ? 'unknown key' : `unknown key (did you mean ${near}?)`;
}

function typeText(type: unknown): string {
  const names = (Array.isArray(type) ? type : String(type).split(',')).map((name) => {
    if (name === 'integer') return 'a whole number';
    if (name === 'null') return 'null';
    return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
  });
  return names.join(' or ');
}

function wordsText(words: readonly unknown[]): string {
  const quoted = words.map((one) => JSON.stringify(one));
  return quoted.length === 1 ? quoted[0]! : `one of ${quoted.join(', ')}`;
}
