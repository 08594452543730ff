import type { RequestContext } from '../../lib/context';
import { Guard, safeObserver } from '../../lib/inspection/safe-observer';
import type { JournalRow } from '../../lib/journal/row';
import { captureLogger } from '../helpers/capture-logger';

describe('an observer that fails', () => {
  it('is told of once, however often and wherever it does', () => {
    const logger = captureLogger();
    const guard = new Guard(logger);
    const broken = (): never => {
      throw new Error('a broken observer');
    };
    const observer = safeObserver({ arrived: broken, ended: broken }, guard);
    observer.arrived?.({} as RequestContext, {} as never);
    observer.ended({} as RequestContext, {} as JournalRow);
    expect(guard.run(broken, 'instead')).toBe('instead');
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]).toMatchObject({ level: 'warn' });
    expect(JSON.stringify(logger.lines)).toContain('a broken observer');
  });

  it('is told of also where it throws what is no error', () => {
    const logger = captureLogger();
    const broken = (): never => {
      throw 'a text';
    };
    new Guard(logger).run(broken, null);
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { error: 'a text' } }]);
  });

  it('may have nothing to say to arrivals', () => {
    const logger = captureLogger();
    const observer = safeObserver({ ended: () => undefined }, new Guard(logger));
    observer.arrived?.({} as RequestContext, {} as never);
    expect(logger.lines).toEqual([]);
  });
});
