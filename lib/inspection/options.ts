/** Options of the inspection routes. */
import type { IncomingMessage } from 'node:http';

/** Pages that are private unless said otherwise. */
export type InspectionPage = 'metrics' | 'state';

/** Who may see private pages. */
export interface InspectionOptions {
  /** Pages that anyone may see. Default: none. */
  readonly public?: readonly InspectionPage[] | undefined;
  /** Decides on private pages; default: loopback connections without a forwarding header. */
  readonly guard?: ((req: IncomingMessage) => boolean) | undefined;
  /** Whether there is a fleet page, at `/narwhal/`: for whom the guard lets in, never public. Default false. */
  readonly page?: boolean | undefined;
}
