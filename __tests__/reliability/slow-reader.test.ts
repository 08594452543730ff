/** A client that does not read what it asked for: its place comes free all the same. */
import { connect } from 'node:net';
import { closeLater } from '../helpers/close-all';
import { CHAT, type Gateway, HI, startGateway, until } from '../integration/gateway';

/** Asks, and never reads. */
function askAndLookAway(gateway: Gateway, body: object): void {
  const { hostname, port } = new URL(gateway.url);
  const text = JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined).pause();
  socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
  closeLater({ close: () => void socket.destroy() });
}

describe('a client that does not read', () => {
  it('its stream has a place for no longer than the deadline and a second', async () => {
    const gateway = await startGateway({ file: { serving: { request_timeout_s: 1 } } });
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 60e6 } };
    askAndLookAway(gateway, { messages: HI, stream: true });
    expect(await gateway.row()).toMatchObject({ terminal: 'expired', reason: 'deadline', status: 200 });
    await until(() => gateway.router.state().seats_taken === 0);
  });

  it('its whole answer is dropped then, and the row says that it was made', async () => {
    const serving = { request_timeout_s: 5, max_response_bytes: 64e6 };
    const gateway = await startGateway({ file: { serving } });
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 200_000, totalBytes: 16e6 } };
    askAndLookAway(gateway, { messages: HI });
    const row = await gateway.row();
    expect(row).toMatchObject({ terminal: 'completed', status: 200 });
    expect(row.duration_s).toBeGreaterThan(5);
    await until(() => gateway.router.state().seats_taken === 0);
  });
});
