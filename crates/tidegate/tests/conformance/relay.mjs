// The conformance suite sends no token, so this stands before the gateway and adds one. Everything else passes as it is.
// Usage: relay.mjs TARGET, with the token in TIDEGATE_TOKEN. The first line on standard output says where it listens.

import http from 'node:http';

const target = new URL(process.argv[2]);
const authorization = `Bearer ${process.env.TIDEGATE_TOKEN}`;

const listener = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization };
  const { hostname, port } = target;
  const onward = http.request({ hostname, port, path: request.url, method: request.method, headers }, answer => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
listener.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${listener.address().port}/mcp`));
