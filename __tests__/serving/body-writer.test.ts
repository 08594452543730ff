import { createServer, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { BodyWriter } from '../../lib/serving/body-writer';
import { closeLater } from '../helpers/close-all';

/** Serves one answer. @returns every byte that the client of it was sent. */
async function wireOf(
  respond: (res: ServerResponse, writer: BodyWriter) => void,
  version = '1.1',
): Promise<string> {
  const server = createServer((_req, res) => respond(res, new BodyWriter(res)));
  closeLater({ close: () => new Promise((done) => server.close(done)) });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const client = net.connect(port, '127.0.0.1');
  client.write(`GET / HTTP/${version}\r\nhost: x\r\nconnection: close\r\n\r\n`);
  const parts: Buffer[] = [];
  for await (const part of client) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

const never = (): void => undefined;

describe('the pieces of a streamed answer', () => {
  it('are chunks that any client can read, however many and however long', async () => {
    const pieces = ['first', 'x'.repeat(15), 'y'.repeat(16), 'z'.repeat(70_000), '\u00e4\u4f60'];
    const wire = await wireOf((res, writer) => {
      for (const piece of pieces) writer.write(Buffer.from(piece), never);
      res.end('last');
    });
    const body = wire.slice(wire.indexOf('\r\n\r\n') + 4);
    const expected = [...pieces, 'last'].map((piece) => {
      return `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`;
    });
    expect(body).toBe(`${expected.join('')}0\r\n\r\n`);
  });

  it('keep their order with what is written in another way', async () => {
    const wire = await wireOf((res, writer) => {
      writer.write(Buffer.from('a'), never);
      res.write('b');
      writer.write(Buffer.from('c'), never);
      setImmediate(() => {
        writer.write(Buffer.from('d'), never);
        res.write('e');
        res.end();
      });
    });
    expect(wire.split('\r\n').filter((line) => /^[a-e]$/.test(line) && line !== '0')).toEqual([...'abcde']);
  });

  it('go through a write that the host has put on the response', async () => {
    const seen: string[] = [];
    const wire = await wireOf((res, writer) => {
      const own = res.write.bind(res) as (chunk: Buffer) => boolean;
      res.write = ((chunk: Buffer) => {
        seen.push(chunk.toString());
        return own(Buffer.from(chunk.toString().toUpperCase()));
      }) as ServerResponse['write'];
      for (const piece of ['one', 'two', 'three']) writer.write(Buffer.from(piece), never);
      res.end();
    });
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(wire).toContain('3\r\nONE\r\n3\r\nTWO\r\n5\r\nTHREE\r\n0\r\n\r\n');
  });

  it('are not framed for a client of HTTP/1.0', async () => {
    const wire = await wireOf((res, writer) => {
      for (const piece of ['one', 'two']) writer.write(Buffer.from(piece), never);
      res.end();
    }, '1.0');
    expect(wire.slice(wire.indexOf('\r\n\r\n') + 4)).toBe('onetwo');
  });

  it('stop for a client that does not read, and go on when it does', async () => {
    const big = Buffer.alloc(256 * 1024, 'x');
    let stops = 0;
    let written = 0;
    const wire = await wireOf((res, writer) => {
      const go = (): void => {
        while (written < 40) {
          written++;
          if (!writer.write(big, go)) {
            stops++;
            return;
          }
        }
        res.end();
      };
      go();
    });
    expect(stops).toBeGreaterThan(1);
    expect(wire.length).toBeGreaterThan(40 * big.length);
    expect(wire.endsWith('0\r\n\r\n')).toBe(true);
  });
});
