/** One small call to an engine, outside of any request: probes and reclaim legs. */
import type { Engine } from './engine';
import type { AnswerHeaders, CallSink, Transport, TransportError } from './transport';

/** A whole small answer. */
export interface SmallAnswer {
  /** 0 where the engine did not answer. */
  readonly status: number;
  readonly body: Buffer;
  /** Nothing listens there. */
  readonly refused: boolean;
  /** The question was on a socket: the engine may have taken it, whatever came then. */
  readonly sent: boolean;
}

/** What is asked. */
export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** Something that may end a call before its time. */
export interface Ending {
  /** @returns a function that takes the registration back. */
  onLeave(cut: () => void): () => void;
}

/** A probe's answer is small; more is not read. */
const MAX_BYTES = 1024 * 1024;

/**
 * Asks and collects the answer. Never rejects: an engine that does not answer has status 0.
 *
 * @param timeoutS seconds for the whole exchange.
 * @param ending cuts the call when it comes.
 */
export function ask(
  transport: Transport,
  engine: Engine,
  question: Question,
  timeoutS: number,
  ending?: Ending,
): Promise<SmallAnswer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let sent = false;
    let forget = (): void => {};
    const end = (refused = false): void => {
      clearTimeout(timer);
      forget();
      resolve({ status, body: Buffer.concat(parts), refused, sent });
    };
    const sink: CallSink = {
      sent() {
        sent = true;
      },
      head(answered: number, _headers: AnswerHeaders) {
        status = answered;
      },
      data(chunk: Buffer) {
        bytes += chunk.length;
        if (bytes <= MAX_BYTES) parts.push(chunk);
      },
      end: () => end(),
      fail(error: TransportError) {
        status = 0;
        end(error.failure === 'unreachable');
      },
    };
    const giveUp = (): void => {
      status = 0;
      control.cut();
      end();
    };
    const timer = setTimeout(giveUp, timeoutS * 1000);
    timer.unref();
    const control = transport.send({ engine: engine.config, ...question }, sink);
    if (ending !== undefined) forget = ending.onLeave(giveUp);
  });
}
