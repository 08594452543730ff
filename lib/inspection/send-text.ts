/** Answers an inspection request with a whole text, or with its head alone. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Headers that were set before stay. */
export function sendText(
  req: IncomingMessage,
  res: ServerResponse,
  { status, type, text }: { readonly status: number; readonly type: string; readonly text: string },
): void {
  res.statusCode = status;
  res.setHeader('content-type', type);
  res.setHeader('content-length', Buffer.byteLength(text));
  res.end(req.method === 'HEAD' ? undefined : text);
}
