// The reference that our answers are compared with: oidc-provider, a certified implementation, with what the service also offers
// and nothing else. CLIENTS has its clients. Every sign-in succeeds at once, as agent01. Prints its issuer, then serves until
// standard input ends.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.PACKAGES, "node_modules", "-"));
const { Provider } = await import(require.resolve("oidc-provider"));

const key = (type, options, more) => ({ ...generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }), use: "sig", ...more });
const roles = { groups: ["role:agent"], roles: ["agent"] };
const person = { name: "Arno Agent", given_name: "Arno Agent", preferred_username: "agent01", email: "agent01@example.com", email_verified: true, ...roles };

const server = createServer();
await once(server.listen(0, "127.0.0.1"), "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: JSON.parse(process.env.CLIENTS),
  jwks: { keys: [key("rsa", { modulusLength: 2048 }, { alg: "RS256" }), key("ec", { namedCurve: "P-256" }, { alg: "ES256" })] },
  scopes: ["openid", "offline_access"],
  claims: {
    openid: ["sub", "sid", "auth_time", "acr", "amr"],
    profile: ["name", "given_name", "preferred_username"],
    email: ["email", "email_verified"],
    groups: ["groups", "roles"],
  },
  // As the service does: claims of the scopes in the ID token too, PKCE for every client, a refresh token when it is asked for.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  issueRefreshToken: async (_, client, code) => client.grantTypeAllowed("refresh_token") && code.scopes.has("offline_access"),
  rotateRefreshToken: true,
  responseTypes: ["code"],
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256"] },
  ttl: { AccessToken: 900, AuthorizationCode: 60, IdToken: 300, RefreshToken: 28_800, Grant: 28_800, Interaction: 600, Session: 28_800 },
  cookies: { keys: ["the cookies of a test"] },
  clientAuthMethods: ["client_secret_basic", "client_secret_post", "none"],
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    introspection: { enabled: true, allowedPolicy: async (_, client, token) => token.clientId === client.clientId },
    revocation: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    userinfo: { enabled: true },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: false },
  },
  interactions: { url: (_, interaction) => `/sign-in/${interaction.uid}` },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...person }) }),
});

const answer = provider.callback();
server.on("request", async (request, response) => {
  if (!request.url.startsWith("/sign-in/")) return answer(request, response);
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: "agent01", clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const result = { login: { accountId: "agent01", acr: "wecom", amr: ["mca", "wecom"] }, consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
});

console.log(JSON.stringify({ issuer }));
process.stdin.resume().on("end", () => process.exit(0));
