/** Where engines are: IPv6, path prefixes, names whose address changes. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import type { EngineConfig } from '../../lib/config/fleet-config';
import { EnginePools } from '../../lib/engines/pools';
import { createFleet } from '../../lib/index';
import { closeLater } from '../helpers/close-all';
import { BODY, startGateway, until } from './gateway';

describe('an engine address', () => {
  it('may be an IPv6 literal in brackets, for both legs and health', async () => {
    const gateway = await startGateway({
      stub: { host: '::1' },
      file: { controller: { monitor_interval_s: 0.02 }, recovery: { liveness_every: 1 } },
    });
    expect(gateway.fleet.engine('p0').url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await gateway.post(BODY)).status).toBe(200);
    await until(() => gateway.fleet.engines.every(({ calls }) => calls.some(({ leg }) => leg === 'health')));
    expect(gateway.legs().map(({ leg }) => leg)).toEqual(['prefill', 'decode']);
  });

  it.each(['::1', '::1:8000', 'http://::1:8000', 'fe80::1%eth0'])('may not be %s', (url) => {
    const config = { model: 'm', engines: [{ iid: 'b0', url, role: 'both' }] };
    expect(() => createFleet(config)).toThrow(/engines\[0\]\.url: /);
  });

  it('may have a path prefix, which is kept on both legs and health', async () => {
    const gateway = await startGateway({
      stub: { prefix: '/engines/a' },
      file: { controller: { monitor_interval_s: 0.02 }, recovery: { liveness_every: 1 } },
    });
    expect((await gateway.post(BODY)).status).toBe(200);
    await until(() => gateway.fleet.engines.every(({ calls }) => calls.some(({ leg }) => leg === 'health')));
  });
});

describe('a name whose address changes', () => {
  const OLD = '127.0.0.1';
  const NEW = '127.0.0.2';

  async function serve(host: string, port: number): Promise<Server> {
    const server = createServer((_req, res) => res.end(host));
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    closeLater({
      close() {
        server.close();
        server.closeAllConnections();
      },
    });
    return server;
  }

  it('is followed once the kept sockets have reached their age, however busy they are', async () => {
    const old = await serve(OLD, 0);
    const { port } = old.address() as AddressInfo;
    await serve(NEW, port);
    let address = OLD;
    const lookup: LookupFunction = (_host, options, done) => {
      if (options.all === true) done(null, [{ address, family: 4 }]);
      else done(null, address, 4);
    };
    const limits = { connectTimeoutS: 1, keepaliveS: 4, maxSocketAgeS: 0.3, sockets: null };
    const pools = closeLater(new EnginePools({ ...limits, lookup }));
    const origin = `http://engine.test:${port}`;
    const engine: EngineConfig = { iid: 'd0', url: origin, origin, prefix: '', role: 'decode', pin: false };
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        let text = '';
        pools.send(
          { engine, method: 'GET', path: '/', headers: {}, body: null },
          {
            sent: () => undefined,
            head: () => undefined,
            data: (chunk) => {
              text += chunk.toString();
            },
            end: () => resolve(text),
            fail: reject,
          },
        );
      });
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));
    expect(await ask()).toBe(OLD);
    address = NEW;
    await pause();
    // Young sockets go on: steady traffic does not resolve the name for each call.
    expect(await ask()).toBe(OLD);
    let asked = 0;
    for (let host = OLD; host !== NEW; asked++) {
      await pause();
      host = await ask();
    }
    expect(asked).toBeGreaterThan(1);
    // The old sockets are closed, not kept beside the new ones.
    await new Promise<void>((resolve) => {
      const look = (): void => {
        old.getConnections((_error, count) => {
          if (count === 0) resolve();
          else setTimeout(look, 5);
        });
      };
      look();
    });
  });
});
