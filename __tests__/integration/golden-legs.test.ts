import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from './gateway';

/** One request: the client's text, and the exact text of both legs. Written by hand; nothing updates them. */
interface GoldenLegs {
  readonly why: string;
  readonly path: string;
  readonly client: string;
  readonly prefill: string;
  readonly decode: string;
}

const FOLDER = join(__dirname, '../golden/legs');
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

/** What the prefill engine hands over: integers, escapes, blanks and keys that a rewrite would change. */
const HANDOFF =
  '{"do_remote_prefill": true,"remote_block_ids":[[1,2]],"remote_engine_id":"e1","remote_request_id":"r1",' +
  '"remote_host":"127.0.0.1","remote_port":5600,"tp_size":1,"x_mark":1152921504606846977,"x":1.0,"n":"\\u00e9"}';

function golden(file: string): GoldenLegs {
  return JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as GoldenLegs;
}

describe('the exact text of both legs', () => {
  it('is kept for a dozen requests and more, on both routes', () => {
    expect(FILES.length).toBeGreaterThanOrEqual(12);
    expect(new Set(FILES.map((file) => golden(file).path)).size).toBe(2);
  });

  it.each(FILES)('is as written in %s', async (file) => {
    const { path, client, prefill, decode } = golden(file);
    const gateway = await startGateway();
    const sent: string[] = [];
    gateway.fleet.script = (call) => {
      sent.push(`${call.leg} ${call.path} ${call.body.toString('utf8')}`);
      return { leg: 'prefill', handoffText: HANDOFF };
    };
    const reply = await gateway.post(path, Buffer.from(client));
    expect(sent).toEqual([
      `prefill ${path} ${prefill}`,
      `decode ${path} ${decode.replace('<handoff>', () => HANDOFF)}`,
    ]);
    expect([reply.status, reply.error]).toEqual([200, undefined]);
  });
});
