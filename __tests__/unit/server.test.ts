import express from 'express';
import { ConfigError, createFleet, createServer, type ExpressApp } from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { openStubFleet } from '../helpers/open-stub-fleet';

it.each([undefined, null, {}, () => undefined, 'app', { request: {}, response: {} }])(
  'createServer refuses %p, and says what it takes',
  (app) => {
    const error = thrownBy(() => createServer(app as unknown as ExpressApp));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe('createServer: app must be an Express application: createServer(express())');
  },
);

it('createServer takes an app', () => {
  expect(createServer(express()).listening).toBe(false);
});

it('createFleet says what to give of a stub fleet', async () => {
  const stub = await openStubFleet();
  const error = thrownBy(() => createFleet(stub));
  expect(error).toBeInstanceOf(ConfigError);
  expect(error?.message).toBe('this is a stub fleet, not the content of a fleet file: give its fleetFile()');
});
