/** Has the test's certificate trusted, as NODE_EXTRA_CA_CERTS does when a process starts. */
import tls, { type ConnectionOptions } from 'node:tls';
import { closeLater } from '../../helpers/close-all';
import { CERTIFICATE } from './certificate';

/** Until the end of the test. @returns the sockets that were opened, with what was asked for. */
export function trustCertificate(): {
  readonly opened: { readonly socket: tls.TLSSocket; readonly options: ConnectionOptions }[];
} {
  const { connect } = tls;
  const opened: { socket: tls.TLSSocket; options: ConnectionOptions }[] = [];
  const spy = jest.spyOn(tls, 'connect').mockImplementation(((options: ConnectionOptions) => {
    const socket = connect({ ...options, ca: CERTIFICATE });
    opened.push({ socket, options });
    return socket;
  }) as typeof connect);
  closeLater({ close: () => spy.mockRestore() });
  return { opened };
}
