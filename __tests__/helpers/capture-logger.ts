/** A logger in memory. */
import type { Logger } from '../../lib/index';

/** One line of the library. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: object | undefined;
}

/** Keeps every line. */
export class CapturedLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(message: string, fields?: object): void {
    this.lines.push({ level: 'debug', message, fields });
  }

  info(message: string, fields?: object): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(message: string, fields?: object): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(message: string, fields?: object): void {
    this.lines.push({ level: 'error', message, fields });
  }

  /** All lines as one text, to search for what must not be there. */
  get text(): string {
    return this.lines.map((line) => JSON.stringify(line)).join('\n');
  }
}

/** A new logger in memory. */
export function captureLogger(): CapturedLogger {
  return new CapturedLogger();
}
