// A real OpenID Connect provider with a few people in it. Tests tell it, at /test, to change its keys or to write something else
// into the tokens that it signs.
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { Provider } from "oidc-provider";

const { host, redirect, secret, people } = JSON.parse(process.argv[2]);
const server = createServer();
await new Promise((listening) => server.listen(0, host, listening));
const issuer = `http://${host}:${server.address().port}`;

/** What tests have asked for. */
let wanted = {};
let signing;
let provider;

async function keyPair(alg) {
  const pair = await generateKeyPair(alg, { extractable: true });
  const kid = `key-${Math.random().toString(36).slice(2)}`;
  const jwk = { ...(await exportJWK(pair.privateKey)), kid, alg, use: "sig" };
  return { ...pair, alg, kid, jwk };
}

/** The provider with a new key, for the same people and the same client. */
async function renew(alg) {
  signing = await keyPair(alg);
  provider = new Provider(issuer, {
    clients: [{
      client_id: "tidegate",
      redirect_uris: [redirect],
      id_token_signed_response_alg: alg,
      ...(secret ? { client_secret: secret } : { token_endpoint_auth_method: "none" }),
    }],
    jwks: { keys: [signing.jwk] },
    cookies: { keys: ["tests"] },
    claims: { openid: ["sub", "groups", "email", "email_verified"] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    enabledJWA: { idTokenSigningAlgValues: ["RS256", "PS256", "ES256", "EdDSA"] },
    pkce: { required: () => true },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("openid");
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === "/token" && ctx.body?.id_token) ctx.body.id_token = await altered(ctx.body.id_token);
  });
}

const decoded = (part) => JSON.parse(Buffer.from(part, "base64url").toString());
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The token, or what a test wants in its place: other claims under the provider's own key, or another signature. */
async function altered(token) {
  const { claims, by } = wanted;
  if (!claims && !by) return token;
  const [head, body, signature] = token.split(".");
  const header = decoded(head);
  const payload = { ...decoded(body), ...claims };
  for (const [name, value] of Object.entries(payload)) if (value === null) delete payload[name];
  const under = (key) => new SignJWT(payload).setProtectedHeader(header).sign(key);
  switch (by ?? "the provider") {
    case "the provider": return under(signing.privateKey);
    case "somebody else": return under((await keyPair(signing.alg)).privateKey);
    case "nobody": return `${encoded({ alg: "none" })}.${encoded(payload)}.`;
    case "the old signature": return `${head}.${encoded(payload)}.${signature}`;
    case "the public key": {
      const text = `${encoded({ ...header, alg: "HS256" })}.${encoded(payload)}`;
      const hmac = createHmac("sha256", await exportSPKI(signing.publicKey)).update(text);
      return `${text}.${hmac.digest("base64url")}`;
    }
    case "a name nobody lists": {
      header.kid = "nobody";
      return under(signing.privateKey);
    }
    case "rules nobody knows": return new SignJWT(payload)
      .setProtectedHeader({ ...header, crit: ["b64"], b64: true }).sign(signing.privateKey);
    case "nonsense": return "nonsense";
    default: throw new Error(by);
  }
}

const form = (uid) => `<!doctype html><html lang="en"><title>Harbour accounts</title><link rel="icon" href="data:,">
<form method="post" action="/interaction/${uid}"><label>Name <input id="login" name="login"></label><button>Go on</button></form>`;

async function read(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

/** Asks a person for their name and believes it. */
async function interaction(request, response) {
  const { uid, params } = await provider.interactionDetails(request, response);
  const login = params.login_hint ?? new URLSearchParams(await read(request)).get("login");
  if (!login) return response.setHeader("content-type", "text/html").end(form(uid));
  const outcome = people[login] ? { login: { accountId: login } } : { error: "access_denied", error_description: "<b>no</b>" };
  return provider.interactionFinished(request, response, outcome);
}

server.on("request", async (request, response) => {
  try {
    if (request.url === "/test") {
      wanted = JSON.parse(await read(request));
      if (wanted.renew) await renew(wanted.renew);
      return response.end("{}");
    }
    if (request.url.startsWith("/interaction/")) return await interaction(request, response);
    return provider.callback()(request, response);
  } catch (error) {
    console.error(error);
    return response.writeHead(500).end();
  }
});

await renew("RS256");
console.log(issuer);
