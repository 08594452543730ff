/** The library's own lines: any logger of the host, or a winston logger. */
import { createLogger, format, transports } from 'winston';
import { ConfigError } from './errors';

/** What the library needs of a logger. winston, pino and `console` have it. */
export interface Logger {
  /** Details that only a developer wants. */
  debug(message: string, fields?: object): void;
  /** What goes its normal way. */
  info(message: string, fields?: object): void;
  /** What an operator should look at some time. */
  warn(message: string, fields?: object): void;
  /** What an operator must act on. */
  error(message: string, fields?: object): void;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** @throws {ConfigError} where one of the four functions is missing. */
export function checkLogger(name: string, value: Logger): Logger {
  const missing = LEVELS.filter((level) => typeof value?.[level] !== 'function');
  if (missing.length === 0) return value;
  throw new ConfigError(`${name} must have the functions debug, info, warn and error`);
}

/** A winston logger that writes warnings and errors as JSON lines to standard error. */
export function defaultLogger(): Logger {
  return createLogger({
    level: 'warn',
    format: format.combine(format.timestamp(), format.json()),
    transports: [new transports.Console({ stderrLevels: ['error', 'warn', 'info', 'debug'] })],
  });
}
