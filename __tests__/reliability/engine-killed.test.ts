/** The process of an engine is killed in mid-load: no request is lost that had shown no output. */

import express from 'express';
import { narwhalRouter } from '../../lib/index';
import { captureJournal } from '../helpers/capture-journal';
import { captureLogger } from '../helpers/capture-logger';
import { closeLater } from '../helpers/close-all';
import { listen } from '../helpers/create-app';
import { StreamClient } from '../integration/stream-client';
import { type Reply, send } from '../testing/client';
import { startChild } from './child';
import { BODY, CHAT, until } from './gateway';

/** One engine in a process. It recomputes what it cannot find: the engines of other processes are unknown to it. */
const ENGINE = (role: string): string => `
  const { startStubFleet } = require('express-narwhal/testing');
  const counts = { prefill: 0, decode: 0, both: 0 };
  counts[${JSON.stringify(role)}] = 1;
  const script = { delayMs: 15, frameDelayMs: 5 };
  startStubFleet({ ...counts, script, deadProducer: 'recompute', lenient: ['handoff-unknown'] })
    .then((fleet) => process.send(fleet.engines[0].url));`;

describe.each(['prefill', 'decode'] as const)('SIGKILL of a %s engine in mid-load', (role) => {
  it('loses no request that had shown no output', async () => {
    const roles = ['prefill', 'prefill', 'decode', 'decode'];
    const children = roles.map((each) => startChild(ENGINE(each)));
    const urls = await Promise.all(children.map((child) => child.message<string>()));
    const engines = roles.map((each, at) => ({ iid: `${each[0]}${at % 2}`, url: urls[at], role: each }));
    const journal = captureJournal();
    const router = closeLater(
      narwhalRouter({
        fleet: {
          model: 'example/model',
          engines,
          serving: { retry_budget: 1000, retry_base_s: 0.01, max_attempts: 3 },
          recovery: { liveness_every: 1, readmit_every: 1 },
          controller: { monitor_interval_s: 0.05 },
        },
        journal,
        logger: captureLogger(),
      }),
    );
    const { url } = await listen(express().use(router));

    const whole: Promise<Reply>[] = [];
    const streams: StreamClient[] = [];
    const victim = children[role === 'prefill' ? 0 : 2]!;
    for (let i = 0; i < 60; i++) {
      if (i % 2 === 0) whole.push(send(url + CHAT, { body: JSON.stringify(BODY) }));
      else streams.push(new StreamClient(url + CHAT, { ...BODY, stream: true }));
      // In the middle of the load, and with work in it.
      if (i === 30) {
        const at = role === 'prefill' ? 0 : 2;
        await until(() => {
          const { prefills_in_flight, decodes_in_flight } = router.state().engines[at]!;
          return prefills_in_flight + decodes_in_flight > 0;
        });
        victim.process.kill('SIGKILL');
      }
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
    for (const reply of await Promise.all(whole)) expect(reply.status).toBe(200);
    for (const stream of streams) {
      await stream.end();
      // One that had shown output ends with an error frame; every other one is whole.
      expect(stream.status).toBe(200);
      if (stream.text.includes('"error"')) expect(stream.text).toMatch(/Heard[\s\S]*"code":"failed"/);
      else expect(stream.text).toMatch(/data: \[DONE\]\n\n$/);
    }
    await until(() => router.state().in_flight === 0);
    const rows = await journal.waitForRows(60);
    expect(
      rows.filter(({ terminal, first_byte_s }) => terminal !== 'completed' && first_byte_s === null),
    ).toEqual([]);
    if (role === 'prefill') expect(rows.every(({ terminal }) => terminal === 'completed')).toBe(true);
    expect(router.state().engines[role === 'prefill' ? 0 : 2]).toMatchObject({ state: 'ejected' });
  });
});
