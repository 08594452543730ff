// A raw TCP pipe to the decode port: the floor for relaying bytes in Node.
//   node pipe.mjs <port> <decode port>
import net from 'node:net';
import { tellAccounts } from './accounting.mjs';

const [port, target] = process.argv.slice(2).map(Number);
const server = net.createServer({ noDelay: true }, (client) => {
  const engine = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
  const end = () => {
    client.destroy();
    engine.destroy();
  };
  client.on('data', (bytes) => engine.write(bytes));
  engine.on('data', (bytes) => client.write(bytes));
  for (const socket of [client, engine]) socket.on('close', end).on('error', end);
});
server.listen(port, '127.0.0.1', 4096, () => process.send?.({ ports: [server.address().port] }));
tellAccounts();
