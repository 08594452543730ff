import zlib from 'node:zlib';
import express5, { type RequestHandler } from 'express';
import { keepRawBody } from '../../lib/request/read-body';
import { answer, listen, post, type TestServer } from './upload';

const express4 = jest.requireActual<typeof express5>('express4');

const LIMIT = 1000;
const JSON_TYPE = { 'content-type': 'application/json' };
const BODY = '{ "model":"m1", "seed":990000000262240065, "t":1.0, "s":"\\u00e9" }';
/** What is left of it after a parser and a writer. */
const WRITTEN = '{"model":"m1","seed":990000000262240100,"t":1,"s":"\u00e9"}';

describe.each([
  ['4', express4],
  ['5', express5],
])('behind the parsers of Express %s', (version, express) => {
  let server: TestServer | null = null;

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  /** Sends a body through these parsers of the host to `readBody`. */
  async function through(
    parsers: RequestHandler[],
    body: string | Buffer,
    headers: Record<string, string> = JSON_TYPE,
  ) {
    const app = express();
    for (const parser of parsers) app.use(parser);
    app.post('/', (req, res, next) => {
      answer(req, res, LIMIT).catch(next);
    });
    server = await listen(app);
    const { status, text } = await post({ port: server.port, body, headers });
    await server.close();
    const error = status === 200 ? null : (JSON.parse(text) as { error: { message: string } }).error.message;
    return { status, text, error };
  }

  it('reads the stream where there is no parser', async () => {
    expect(await through([], BODY)).toMatchObject({ status: 200, text: BODY });
  });

  it('writes the value of express.json() anew', async () => {
    expect(await through([express.json()], BODY)).toMatchObject({ status: 200, text: WRITTEN });
  });

  it('keeps the very bytes with the verify hook', async () => {
    expect(await through([express.json({ verify: keepRawBody })], BODY)).toMatchObject({
      status: 200,
      text: BODY,
    });
  });

  it('keeps the inflated bytes with the verify hook', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    const parser = express.json({ verify: keepRawBody });
    expect(await through([parser], zlib.gzipSync(BODY), headers)).toMatchObject({ status: 200, text: BODY });
  });

  it('finds half a surrogate pair and a repeated key in the kept bytes', async () => {
    const parser = express.json({ verify: keepRawBody });
    expect((await through([parser], '{"a":1,"a":2}')).error).toMatch(/repeat a top-level key/);
    expect((await through([parser], '{"a":"\\ud83d"}')).error).toMatch(/unpaired surrogate/);
    expect((await through([express.json()], '{"a":"\\ud83d"}')).error).toMatch(/unpaired surrogate/);
  });

  it('uses the value where the kept bytes would be in another charset', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-16le' };
    const parser = express.json({ verify: keepRawBody });
    const bytes = Buffer.from(BODY, 'utf16le');
    expect(await through([parser], bytes, headers)).toMatchObject({ status: 200, text: WRITTEN });
  });

  it('uses the bytes of express.raw()', async () => {
    const parser = express.raw({ type: () => true });
    expect(await through([parser], BODY)).toMatchObject({ status: 200, text: BODY });
    expect((await through([parser], Buffer.from([0x22, 0xff]))).error).toBe(
      'the request body is not valid UTF-8',
    );
  });

  it('uses the text of express.text()', async () => {
    const parser = express.text({ type: () => true });
    expect(await through([parser], BODY)).toMatchObject({ status: 200, text: BODY });
    expect((await through([parser], '{"a":')).error).toBe('the request body is not valid JSON');
  });

  it('uses the bytes that another middleware kept', async () => {
    const keep: RequestHandler = (req, _res, next) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        Object.assign(req, { rawBody: Buffer.concat(chunks) });
        next();
      });
    };
    expect(await through([keep], BODY)).toMatchObject({ status: 200, text: BODY });
  });

  it('reads the stream that a parser has skipped, whatever it left in req.body', async () => {
    const headers = { 'content-type': 'text/plain' };
    let skipped: unknown = null;
    const look: RequestHandler = (req, _res, next) => {
      skipped = req.body;
      next();
    };
    expect(await through([express.json(), look], BODY, headers)).toMatchObject({ status: 200, text: BODY });
    expect(skipped).toEqual(version === '4' ? {} : undefined);
  });

  it('reads the stream where somebody put a body beside it without reading', async () => {
    const put: RequestHandler = (req, _res, next) => {
      req.body = { model: 'other' };
      next();
    };
    expect(await through([put], BODY)).toMatchObject({ status: 200, text: BODY });
  });

  it.each(['false', '0', 'null', 'true', '[1]'])('answers %s as no object, at once', async (body) => {
    const parser = express.json({ strict: false });
    expect(await through([parser], body)).toMatchObject({
      status: 400,
      error: 'the request body must be a JSON object',
    });
  });

  it('answers an empty text of the host as no JSON', async () => {
    expect((await through([express.json({ strict: false })], '""')).error).toBe(
      'the request body is not valid JSON',
    );
  });

  it('holds the limit for every kind of parsed body', async () => {
    const body = JSON.stringify({ prompt: 'x'.repeat(LIMIT) });
    const parsers = [
      express.json(),
      express.json({ verify: keepRawBody }),
      express.raw({ type: () => true }),
      express.text({ type: () => true }),
    ];
    for (const parser of parsers) {
      expect(await through([parser], body)).toMatchObject({
        status: 413,
        error: `the request body is larger than ${LIMIT} bytes`,
      });
    }
  });

  it('says what is wrong where a reader kept nothing', async () => {
    const swallow: RequestHandler = (req, _res, next) => {
      req.resume().on('end', () => next());
    };
    expect(await through([swallow], BODY)).toMatchObject({ status: 500 });
  });
});
