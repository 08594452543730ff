/** Which bodies are read of requests that will be refused: pure, without sockets. */
import type { IncomingMessage } from 'node:http';
import { Door, SMALL_BODY } from '../../lib/admission/door';

function upload(headers: object, readableDidRead = false): IncomingMessage {
  return { headers, readableDidRead } as unknown as IncomingMessage;
}

describe('the body of a request that will be refused', () => {
  const door = new Door(1);

  it.each([
    ['none', {}, true],
    ['one of the largest small size', { 'content-length': String(SMALL_BODY) }, true],
    ['one byte more', { 'content-length': String(SMALL_BODY + 1) }, false],
    ['one of unknown length', { 'transfer-encoding': 'chunked' }, false],
  ])('is read where it costs little: %s', (_words, headers, isRead) => {
    expect(door.mayRead(upload(headers))).toBe(isRead);
  });

  it('is read where the host has read it already, whatever its size', () => {
    expect(door.mayRead(upload({ 'content-length': '999999999' }, true))).toBe(true);
  });

  it('is not read, even a small one, where very many are inside', () => {
    const full = new Door(1);
    const tickets = Array.from({ length: 258 }, () => full.enter());
    expect(full.mayRead(upload({}))).toBe(true);
    tickets.push(full.enter());
    expect(full.mayRead(upload({}))).toBe(false);
    tickets.pop()!.leave();
    expect(full.mayRead(upload({}))).toBe(true);
  });
});

describe('a ticket of the door', () => {
  it('is beyond the room only as long as the room is full', () => {
    const door = new Door(1);
    const first = door.enter();
    const second = door.enter();
    expect([first.isBeyond, second.isBeyond]).toEqual([false, true]);
    first.leave();
    expect(second.isBeyond).toBe(false);
  });

  it('is not beyond it for a tenant that has less than its share', () => {
    const door = new Door(4);
    const busy = Array.from({ length: 4 }, () => door.enter({ name: 'busy', weight: 1 }));
    expect(door.enter({ name: 'quiet', weight: 1 }).isBeyond).toBe(false);
    expect(door.enter({ name: 'busy', weight: 1 }).isBeyond).toBe(true);
    expect(busy.map(({ isBeyond }) => isBeyond)).toEqual(Array(4).fill(false));
  });

  it('leaves once', () => {
    const door = new Door(4);
    const ticket = door.enter();
    door.enter();
    ticket.leave();
    ticket.leave();
    expect(door.inside).toBe(1);
  });
});
