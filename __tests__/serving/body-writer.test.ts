import { once } from 'node:events';
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

describe('a whole body', () => {
  const withLength = (body: Buffer | string) => (res: ServerResponse, writer: BodyWriter) => {
    res.setHeader('content-length', body.length);
    writer.whole(body);
  };
  const bodyOf = (wire: string): string => wire.slice(wire.indexOf('\r\n\r\n') + 4);

  it.each([
    ['a text', 'short', '1.1'],
    ['a text of bytes', Buffer.from('\u00e4\u4f60').toString('latin1'), '1.1'],
    ['a long text', 'x'.repeat(3_000_000), '1.1'],
    ['an empty text', '', '1.1'],
    ['a buffer', Buffer.from('short'), '1.1'],
    ['a text for a client of HTTP/1.0', 'short', '1.0'],
  ])('arrives as it is, with one end: %s', async (_what, body, version) => {
    let finished = 0;
    const wire = await wireOf((res, writer) => {
      res.on('finish', () => finished++);
      withLength(body)(res, writer);
    }, version);
    const expected = Buffer.from(body as string, 'latin1').toString('utf8');
    // Not as a matcher: three megabytes of difference are no help.
    expect(bodyOf(wire) === expected).toBe(true);
    expect(wire).toContain(`content-length: ${body.length}\r\n`);
    expect(finished).toBe(1);
  });

  it('is sent without an end of its own where the host holds the socket back', async () => {
    const wire = await wireOf((res, writer) => {
      res.cork();
      withLength('held')(res, writer);
      setImmediate(() => res.uncork());
    });
    expect(bodyOf(wire)).toBe('held');
  });

  it('says nothing of an end to a host whose client has just gone', async () => {
    const said: string[] = [];
    let closed: Promise<unknown> = Promise.resolve();
    await wireOf((res, writer) => {
      for (const name of ['finish', 'close']) res.on(name, () => said.push(name));
      closed = once(res, 'close');
      res.socket!.destroy();
      withLength('late')(res, writer);
    });
    await closed;
    expect(said).toEqual(['close']);
  });

  it.each(['write', 'end'] as const)('is bytes for a %s that the host has put there', async (method) => {
    const seen: unknown[] = [];
    const wire = await wireOf((res, writer) => {
      const own = res[method].bind(res) as (...given: unknown[]) => never;
      Object.assign(res, {
        [method]: (...given: unknown[]) => {
          seen.push(String(given[0]));
          return own(...given);
        },
      });
      withLength(Buffer.from('\u00e4\u4f60').toString('latin1'))(res, writer);
    });
    expect(bodyOf(wire)).toBe('\u00e4\u4f60');
    expect(seen).toEqual(method === 'end' ? ['\u00e4\u4f60'] : []);
  });

  it('waits for its turn behind an answer that is not over', async () => {
    const answers: (() => void)[] = [];
    const server = createServer((req, res) => {
      answers.push(() => withLength(req.url!)(res, new BodyWriter(res)));
      // The second is answered first.
      if (answers.length === 2) for (const answer of answers.reverse()) answer();
    });
    closeLater({ close: () => new Promise((done) => server.close(done)) });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write(
      'GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /second HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    let wire = '';
    for await (const part of client) wire += String(part);
    expect(wire.match(/\r\n\r\n\/(first|second)/g)).toEqual(['\r\n\r\n/first', '\r\n\r\n/second']);
  });
});
