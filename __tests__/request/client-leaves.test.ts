import { once } from 'node:events';
import { ClientGoneError } from '../../lib/errors';
import { answer, closed, connect, listen, useUploads } from './upload';

const BODY = '{"model":"m1"}';

const uploads = useUploads(1000);

describe('a client that leaves', () => {
  const heads = {
    'with a length': 'content-length: 500\r\n\r\n{"prompt":',
    chunked: 'transfer-encoding: chunked\r\n\r\na\r\n{"prompt":\r\n',
    'with an encoding': 'content-encoding: gzip\r\ncontent-length: 500\r\n\r\n\x1f',
    'before the first byte': 'content-length: 500\r\n\r\n',
  };

  it.each(Object.entries(heads))('ends the reading: %s', async (_what, head) => {
    const socket = await connect(uploads.port);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}`, 'latin1');
    let started: () => void = () => undefined;
    const reading = new Promise<void>((resolve) => {
      started = resolve;
    });
    uploads.before = () => started();
    await reading;
    socket.destroy();
    const { error, left } = await uploads.outcome();
    expect(error).toBeInstanceOf(ClientGoneError);
    expect(left()).toEqual([]);
  });

  it('is noticed when it left before anybody read', async () => {
    uploads.before = (req) => closed(req);
    const socket = await connect(uploads.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    socket.destroy();
    expect((await uploads.outcome()).error).toBeInstanceOf(ClientGoneError);
  });

  it('is noticed when it left while another reader was at it', async () => {
    uploads.before = async (req) => {
      req.resume();
      await once(req, 'data');
      await closed(req);
    };
    const socket = await connect(uploads.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    while (uploads.outcomes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    expect((await uploads.outcome()).error).toBeInstanceOf(ClientGoneError);
  });

  it('is noticed also when the host has given its answer in the meantime', async () => {
    const own = await listen((req, res) => {
      uploads.outcomes.push(answer(req, res, uploads.maxBytes));
      res.end();
    });
    const socket = await connect(own.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    await once(socket, 'data');
    socket.destroy();
    const { error, left } = await uploads.outcome();
    expect(error).toBeInstanceOf(ClientGoneError);
    expect(left()).toEqual([]);
    await own.close();
  });

  it('is noticed when it only shuts its own side before the body is whole', async () => {
    const socket = await connect(uploads.port);
    socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    expect((await uploads.outcome()).error).toBeInstanceOf(ClientGoneError);
    socket.destroy();
  });

  it('has not left when it only waits', async () => {
    const socket = await connect(uploads.port);
    const body = Buffer.from(BODY);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body.subarray(0, 5));
    while (uploads.outcomes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.write(body.subarray(5));
    expect((await uploads.outcome()).error).toBeNull();
    socket.destroy();
  });
});
