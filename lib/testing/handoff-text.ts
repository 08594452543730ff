import { randomBytes, randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from './raw-json';

/**
 * A new handoff as JSON text, with the members of a NixlConnector answer
 * (vLLM distributed/kv_transfer/kv_connector/v1/nixl). It also holds what a rewrite would spoil: unknown keys,
 * an integer above 2^53, `1.0`, escapes.
 *
 * @param engineId id of the engine process that holds the blocks
 * @param answerId id of the prefill answer; the engine's own id adds eight random characters
 * @param promptTokens length of the prompt
 */
export function handoffText(engineId: string, answerId: string, promptTokens: number): string {
  const suffix = randomBytes(4).toString('hex');
  const first = randomBytes(2).readUInt16BE();
  const blocks = Array.from(
    { length: Math.min(4, 1 + Math.floor(promptTokens / 16)) },
    (_, at) => first + at,
  );
  const remoteId = JSON.stringify(`${answerId}-${suffix}`);
  return (
    `{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[${blocks.join(',')}]],` +
    `"remote_engine_id":"${engineId}","remote_request_id":${remoteId},` +
    `"remote_host":"127.0.0.1","remote_port":5600,"tp_size":1,"remote_num_tokens":${promptTokens},` +
    `"x_blocks_mark":1152921504606846977,"x_scale":1.0,"x_note":"caf\\u00e9 \\/ \u6f6e"}`
  );
}

/** An answer as JSON text with `handoff` put in as it is, at top level or in the first choice. */
export function withHandoff(answer: JsonObject, handoff: string, inChoice: boolean): string {
  const mark = randomUUID();
  const choices = Array.isArray(answer['choices']) ? answer['choices'] : [];
  const marked = inChoice
    ? {
        ...answer,
        choices: choices.map((choice, at) =>
          at === 0 && isJsonObject(choice) ? { ...choice, kv_transfer_params: mark } : choice,
        ),
      }
    : { ...answer, kv_transfer_params: mark };
  return JSON.stringify(marked).replace(`"${mark}"`, () => handoff);
}
