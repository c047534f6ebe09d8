// openid-client, a certified library: signs in, asks who it is, refreshes, introspects, revokes, and prepares the sign-out. It
// checks state, iss, nonce, aud, times and signatures by itself. Writes an address for the browser to open, reads the address that
// the browser was sent back to, and writes what it got: each a line of JSON.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { PACKAGES, ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, POST_LOGOUT_URI } = process.env;
const require = createRequire(join(PACKAGES, "node_modules", "-"));
const client = await import(require.resolve("openid-client"));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (value) => console.log(JSON.stringify(value));
const hear = async () => JSON.parse((await lines.next()).value);

const execute = [client.allowInsecureRequests, client.enableNonRepudiationChecks];
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, {}, client.ClientSecretBasic(CLIENT_SECRET), { execute });
const pkceCodeVerifier = client.randomPKCECodeVerifier();
const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()];
const open = client.buildAuthorizationUrl(config, {
  redirect_uri: REDIRECT_URI,
  scope: "openid profile email groups offline_access",
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: "S256",
  state: expectedState,
  nonce: expectedNonce,
  max_age: "3600",
  prompt: "consent",
});
say({ open: open.href });

const { at } = await hear();
const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge: 3600, idTokenExpected: true };
const tokens = await client.authorizationCodeGrant(config, new URL(at), checks);
const { sub } = tokens.claims();
const userinfo = await client.fetchUserInfo(config, tokens.access_token, sub);
const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token);
const introspected = await client.tokenIntrospection(config, refreshed.access_token);
const hash = createHash("sha256").update(tokens.access_token).digest().subarray(0, 16).toString("base64url");

const end = client.buildEndSessionUrl(config, {
  post_logout_redirect_uri: POST_LOGOUT_URI,
  id_token_hint: refreshed.id_token,
  state: expectedState,
});
say({
  claims: tokens.claims(),
  userinfo,
  at_hash: hash,
  refreshed: refreshed.claims(),
  rotated: refreshed.refresh_token !== tokens.refresh_token,
  introspected,
  state: expectedState,
  end: end.href,
});

// The second half: after the browser has signed out, or before, as it is told.
const { revoke } = await hear();
if (revoke) await client.tokenRevocation(config, refreshed.refresh_token);
const after = await client.tokenIntrospection(config, refreshed.access_token);
const refusal = (error) => error.error ?? error.cause?.error ?? error.code;
say({
  active: after.active,
  refresh: await client.refreshTokenGrant(config, refreshed.refresh_token).then(() => "tokens", refusal),
  userinfo: await client.fetchUserInfo(config, refreshed.access_token, sub).then(() => "claims", (error) => error.status ?? refusal(error)),
});
process.exit(0);
