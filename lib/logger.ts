/** The library's own lines: any logger of the host, or a winston logger. */
import { createLogger, format, transports } from 'winston';

/** What the library needs of a logger. winston, pino and `console` have it. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** A winston logger that writes warnings and errors as JSON lines to standard error. */
export function defaultLogger(): Logger {
  return createLogger({
    level: 'warn',
    format: format.combine(format.timestamp(), format.json()),
    transports: [new transports.Console({ stderrLevels: ['error', 'warn', 'info', 'debug'] })],
  });
}
