/** Options of the inspection routes. */
import type { IncomingMessage } from 'node:http';

/** Pages that are private unless said otherwise. */
export type InspectionPage = 'metrics' | 'state';

/** Who may see private pages. */
export interface InspectionOptions {
  /** Pages that anyone may see. */
  readonly public?: readonly InspectionPage[] | undefined;
  /** Decides on private pages; default: loopback connections without a forwarding header. */
  readonly guard?: ((req: IncomingMessage) => boolean) | undefined;
}
