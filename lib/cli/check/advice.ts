/** Pure: from what an engine answered to what an operator should do. */
import type { EngineConfig } from '../../config/fleet-config';
import { vllm } from '../../engines/dialects/vllm';
import type { Reply } from './call';

/** Longest piece of an engine's own words. */
const MAX_WORDS = 200;

/** What hands a KV cache over, in vLLM's own words. */
const CONNECTOR = `--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'`;

/** Why an engine did not answer at all; null where it did. */
export function silence(engine: EngineConfig, { failure, detail }: Reply): string | null {
  const at = engine.url;
  switch (failure) {
    case null:
      return null;
    case 'timeout':
    case 'connect_timeout':
      return `does not answer at ${at} (${detail}): is it still loading, or is a firewall in between? --timeout gives it longer`;
    case 'unreachable':
      return `cannot be reached at ${at} (${detail}): ${unreachable(detail)}`;
    case 'answer':
      return `does not speak HTTP at ${at} (${detail}): check its port and http or https in the url`;
    case 'closed':
    case 'connection':
      return `broke the connection at ${at} (${detail}): look into its log`;
  }
}

function unreachable(detail: string): string {
  if (detail.includes('ECONNREFUSED')) return 'start it, or correct its url in the fleet file';
  if (/ENOTFOUND|EAI_AGAIN/.test(detail))
    return 'the name is not known to DNS; correct its url in the fleet file';
  if (/WRONG_VERSION|PACKET_LENGTH|EPROTO/.test(detail))
    return 'it does not speak TLS there; write http:// in its url, or correct its port';
  if (/CERT|SSL|SIGNATURE/.test(detail))
    return 'its certificate is not trusted here; NODE_EXTRA_CA_CERTS names a CA';
  return 'check its url in the fleet file and the network';
}

/** A refused key. @param variable name of the variable that the fleet file names, or null. */
export function keyRefused(status: number, variable: string | null): string {
  return variable === null
    ? `asks for a key (${status}): name the variable that holds it in engine.engine_api_key_env of the fleet file`
    : `refuses the key in $${variable} (${status}): put the value of its --api-key there`;
}

/** The model is not among those served. */
export function modelMissing(model: string, served: readonly string[]): string {
  const list = served.length === 0 ? 'no model' : served.slice(0, 5).join(', ');
  return `serves ${list}, not ${model}: start it with --served-model-name ${model}, or change model in the fleet file`;
}

/** A prefill answer without a handoff. */
export function noHandoff(detail: string): string {
  return `answers, but hands nothing over (${detail}): start vLLM with ${CONNECTOR}`;
}

/** A decode engine that did not take a handoff. */
export function notClaimed(reply: Reply): string {
  return (
    `the handoff was not taken (${words(reply)}): run both engines with one version, one model and ` +
    `${CONNECTOR}, and set VLLM_NIXL_SIDE_CHANNEL_HOST on the prefill engine to an address that the decode engine reaches`
  );
}

/** A completion that failed for a reason of its own. */
export function failedCompletion(what: string, reply: Reply): string {
  return `${what} failed (${words(reply)}): look into its log`;
}

/** Status and the engine's own words. */
export function words({ status, body, failure, detail }: Reply): string {
  if (failure !== null) return detail;
  if (status === 200) return 'status 200 without a completion';
  const reading = vllm.readError(status, body.toString('utf8'));
  const text = reading.kind === 'refusal' ? reading.refusal.message : reading.text;
  const short = text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}...` : text;
  return short === '' ? `status ${status}` : `status ${status}: ${short}`;
}

/** A handoff that names an address which only its own machine can reach. */
export function unreachableHost(engine: EngineConfig, handoff: string): string | null {
  const host = remoteHost(handoff);
  const isLoopback = (name: string): boolean => /^(localhost|127\.|::1$|\[::1\]$)/.test(name);
  if (host === null || !isLoopback(host) || isLoopback(new URL(engine.origin).hostname)) return null;
  return `names ${host} as the place of its KV cache: set VLLM_NIXL_SIDE_CHANNEL_HOST to an address that decode engines reach`;
}

function remoteHost(handoff: string): string | null {
  try {
    const { remote_host: host } = JSON.parse(handoff) as { remote_host?: unknown };
    return typeof host === 'string' ? host : null;
  } catch {
    return null;
  }
}
