/** Which connections are of this machine: what the private pages are shown to by default. */
import type { IncomingMessage } from 'node:http';
import { isLocal } from '../../lib/inspection/access';

function from(remoteAddress: string | undefined, headers: object = {}): IncomingMessage {
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage;
}

describe('a connection of this machine', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('is one from %s', (address) => {
    expect(isLocal(from(address))).toBe(true);
  });

  // Undefined: the peer has left already, or it came over a Unix socket, from a proxy that adds no header.
  it.each([undefined, '10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '::2'])('is none from %s', (address) => {
    expect(isLocal(from(address))).toBe(false);
  });

  it.each([
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'via',
  ])('is none that a proxy has passed on: %s', (name) => {
    expect(isLocal(from('127.0.0.1', { [name]: '127.0.0.1' }))).toBe(false);
  });

  it.each([
    ['localhost', true],
    ['LOCALHOST:8080', true],
    ['127.0.0.1:8080', true],
    ['[::1]:8080', true],
    [undefined, true],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example:80', false],
  ])('asks for %s by name, as a page that was pointed here would not', (host, isOwn) => {
    expect(isLocal(from('127.0.0.1', { host }))).toBe(isOwn);
  });

  it.each([
    [undefined, true],
    ['none', true],
    ['same-origin', true],
    ['same-site', false],
    ['cross-site', false],
  ])('is no request that a page of another origin has made: sec-fetch-site %s', (site, isOwn) => {
    expect(isLocal(from('127.0.0.1', { 'sec-fetch-site': site }))).toBe(isOwn);
  });
});
