import fc from 'fast-check';
import { parseEngineUrl } from '../../lib/config/engine-url';

describe('parseEngineUrl', () => {
  it.each([
    ['http://10.0.0.1:8000', 'http://10.0.0.1:8000', ''],
    ['http://10.0.0.1:8000/', 'http://10.0.0.1:8000', ''],
    ['https://engines.example:8443/pool/a/', 'https://engines.example:8443', '/pool/a'],
    ['http://engines.example/pool//', 'http://engines.example', '/pool'],
    ['HTTP://Engines.Example:80', 'http://engines.example', ''],
    ['http://[::1]:8000', 'http://[::1]:8000', ''],
    ['http://[fd00:0:0:0::7]:9000/p', 'http://[fd00::7]:9000', '/p'],
    ['http://engines.example/v10', 'http://engines.example', '/v10'],
    ['http://engines.example/a@b', 'http://engines.example', '/a@b'],
  ])('takes %s apart', (text, origin, prefix) => {
    expect(parseEngineUrl(text)).toEqual({ problem: null, origin, prefix });
  });

  it.each(['::1', '::1:8000', 'http://::1:8000', 'http://fd00::7', '2001:db8:0:0:1:0:0:1', 'fe80::1%eth0'])(
    'refuses %s and shows the brackets',
    (text) => {
      expect(parseEngineUrl(text).problem).toMatch(/^must be an http\(s\) URL; .*\[::1\]/);
    },
  );

  it.each([
    '',
    'engine:8000',
    'localhost',
    '10.0.0.1:8000',
    'ftp://10.0.0.1',
    'unix:///run/engine.sock',
    'http:/10.0.0.1',
    'http:///10.0.0.1',
    '//10.0.0.1',
    'http://10.0.0.1:99999',
    'http://[::1',
    'http://[fe80::1%25eth0]:8000',
    'http://a b:8000',
    ' http://10.0.0.1',
    'http://10.0.0.1\n',
    'http://10.0.0.1\\p',
    'http://10.0.0.1/\u0000',
  ])('refuses %j', (text) => {
    expect(parseEngineUrl(text).problem).toMatch(/^must be an http\(s\) URL/);
  });

  it.each(['http://user:hunter2@h:1', 'http://hunter2@h', 'http://@h', 'http://:hunter2@h/'])(
    'refuses credentials in %s and does not repeat them',
    (text) => {
      const { problem } = parseEngineUrl(text);
      expect(problem).toMatch(/must not hold credentials/);
      expect(problem).not.toContain('hunter2');
    },
  );

  it('refuses a query string, a fragment and port 0', () => {
    expect(parseEngineUrl('http://h:1/?key=x').problem).toBe('must not hold a query string');
    expect(parseEngineUrl('http://h:1?').problem).toBe('must not hold a query string');
    expect(parseEngineUrl('http://h:1/#x').problem).toBe('must not hold a fragment');
    expect(parseEngineUrl('http://h:0').problem).toBe('must not name port 0');
  });

  it.each(['http://h:1/v1', 'http://h:1/v1/', 'http://h:1/p/v1', 'http://h:1/v1/chat/completions'])(
    'says to leave out /v1 in %s',
    (text) => {
      expect(parseEngineUrl(text).problem).toMatch(/leave out \/v1/);
    },
  );

  it('gives an origin and a prefix that make up a URL of the same place', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'] }), (text) => {
        const parsed = parseEngineUrl(text);
        if (parsed.problem !== null) return;
        expect(parsed.prefix).not.toMatch(/\/$/);
        expect(new URL(`${parsed.origin}${parsed.prefix}`).host).toBe(new URL(text).host);
      }),
    );
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('', 'http://', 'https://['),
        (text, start) => {
          const { problem } = parseEngineUrl(start + text);
          expect(problem === null || problem.length > 0).toBe(true);
        },
      ),
    );
  });
});
