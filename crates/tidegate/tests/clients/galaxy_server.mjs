// A small server for the API that the document of @scalar/galaxy describes. It prints its address when it listens.
import { createServer } from "node:http";

const planets = new Map([[1, { id: 1, name: "HD 40307g" }], [2, { id: 2, name: "Kepler-22b" }]]);

const routes = [
  ["GET", /^\/planets$/, ({ query }) => {
    const limit = Number(query.get("limit") ?? 10);
    return [200, { data: [...planets.values()].slice(0, limit), meta: { limit, total: planets.size } }];
  }],
  ["POST", /^\/planets$/, ({ body }) => {
    const planet = { ...body, id: planets.size + 1 };
    planets.set(planet.id, planet);
    return [201, planet];
  }],
  ["GET", /^\/planets\/(\d+)$/, ({ id }) => {
    if (id === 302) return [302, null, { location: "/me" }];
    return planets.has(id) ? [200, planets.get(id)] : [404, { title: "Not Found", status: 404 }];
  }],
  ["DELETE", /^\/planets\/(\d+)$/, ({ id }) => [planets.delete(id) ? 204 : 404, null]],
  ["GET", /^\/me$/, ({ authorization }) => authorization === "Bearer galaxy-key"
    ? [200, { id: 1, email: "marc@example.com" }]
    : [401, { title: "Unauthorized", status: 401 }]],
];

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  let text = "";
  for await (const piece of request) text += piece;
  for (const [method, pattern, answer] of routes) {
    const match = pattern.exec(url.pathname);
    if (request.method !== method || !match) continue;
    const asked = { id: Number(match[1]), query: url.searchParams, authorization: request.headers.authorization };
    const [status, body, headers] = answer({ ...asked, body: text ? JSON.parse(text) : undefined });
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === null ? undefined : JSON.stringify(body));
    return;
  }
  response.writeHead(404).end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
