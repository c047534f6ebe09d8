// What well-known programs need: the addresses that are registered here, and what is entered there. The command
// `deskpass oidc client add --for` has the same recipes.

const withoutSlash = (url) => url.trim().replace(/\/+$/, '');

/** A random value, so that no two sites encrypt with the same. */
const randomText = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Apache's module in front of a program that takes the user from the web server. */
const apache = {
  kind: 'confidential',
  redirect: '/oidc-callback',
  backchannel: '/oidc-callback?logout=backchannel',
  afterLogout: '/',
  entries: ({ issuer, id, secret, redirect }) => [
    ['OIDCProviderMetadataURL', `${issuer}/.well-known/openid-configuration`],
    ['OIDCClientID', id],
    ['OIDCClientSecret', secret],
    ['OIDCRedirectURI', redirect],
    ['OIDCPKCEMethod', 'S256'],
    ['OIDCScope', '"openid profile email groups"'],
    ['OIDCRemoteUserClaim', 'preferred_username'],
    ['OIDCCryptoPassphrase', randomText()],
    ['AuthType', 'openid-connect'],
    ['Require', 'valid-user'],
  ],
};

/** Request Tracker behind Apache. Without the fallback its menu has no sign-out. */
const requestTracker = {
  ...apache,
  entries: (given) => [
    ...apache.entries(given),
    ['$WebRemoteUserAuth', '1'],
    ['$WebRemoteUserContinuous', '1'],
    ['$WebRemoteUserAutocreate', '1'],
    ['$UserAutocreateDefaultsOnLogin', '{ Privileged => 0 }'],
    ['$WebFallbackToRTLogin', '1'],
    ['$LogoutURL', given.afterLogout && `/oidc-callback?logout=${encodeURIComponent(given.afterLogout)}`],
  ],
};

const zammad = {
  kind: 'public',
  redirect: '/auth/openid_connect/callback',
  backchannel: '/auth/openid_connect/backchannel_logout',
  afterLogout: '/',
  withoutGroups: true,
  entries: ({ issuer, id }) => [
    ['Identifier', id],
    ['Issuer', issuer],
    ['UID Field', 'sub'],
    ['Scopes', 'openid email profile'],
    ['PKCE', 'yes'],
  ],
};

const grafana = {
  kind: 'confidential',
  redirect: '/login/generic_oauth',
  afterLogout: '/login',
  refreshes: true,
  entries: ({ provider: found, id, secret }) => [
    ['enabled', 'true'],
    ['client_id', id],
    ['client_secret', secret],
    ['auth_url', found.authorization_endpoint],
    ['token_url', found.token_endpoint],
    ['api_url', found.userinfo_endpoint],
    ['scopes', 'openid profile email groups offline_access'],
    ['use_pkce', 'true'],
    ['use_refresh_token', 'true'],
    ['login_attribute_path', 'preferred_username'],
    ['groups_attribute_path', 'groups'],
    ['role_attribute_path', "contains(roles[*], 'admin') && 'Admin' || contains(roles[*], 'agent') && 'Editor' || 'Viewer'"],
    ['signout_redirect_url', `${found.end_session_endpoint}?client_id=${id}`],
  ],
};

const gitlab = {
  kind: 'confidential',
  redirect: '/users/auth/openid_connect/callback',
  afterLogout: '/users/sign_in',
  entries: ({ issuer, id, secret, redirect }) => [
    ['issuer', issuer],
    ['discovery', 'true'],
    ['scope', '["openid", "profile", "email", "groups"]'],
    ['response_type', 'code'],
    ['client_auth_method', 'basic'],
    ['uid_field', 'sub'],
    ['pkce', 'true'],
    ['client_options.identifier', id],
    ['client_options.secret', secret],
    ['client_options.redirect_uri', redirect],
  ],
};

const generic = {
  kind: 'confidential',
  refreshes: true,
  entries: ({ issuer, provider: found, id, secret, redirect }) => [
    ['issuer', issuer],
    ['discovery', `${issuer}/.well-known/openid-configuration`],
    ['client_id', id],
    ['client_secret', secret],
    ['redirect_uri', redirect],
    ['scope', 'openid profile email groups'],
    ['code_challenge_method', 'S256'],
    ['authorization_endpoint', found.authorization_endpoint],
    ['token_endpoint', found.token_endpoint],
    ['userinfo_endpoint', found.userinfo_endpoint],
    ['end_session_endpoint', found.end_session_endpoint],
  ],
};

/** The recipes, with the names of the programs; `refreshes` says whether a program uses refresh tokens, `withoutGroups` that it takes no groups. */
export const RECIPES = {
  generic: { ...generic, name: '' },
  zammad: { ...zammad, name: 'Zammad' },
  glpi: { ...apache, name: 'GLPI' },
  grafana: { ...grafana, name: 'Grafana' },
  gitlab: { ...gitlab, name: 'GitLab' },
  rt: { ...requestTracker, name: 'Request Tracker' },
};

/** The part of a registration that a recipe fills in for the program at this address. */
export function filledIn(name, url) {
  const { kind, redirect, afterLogout, backchannel = '' } = RECIPES[name];
  const at = (path) => (path && url.trim() ? withoutSlash(url) + path : '');
  return {
    kind,
    redirect_uris: [at(redirect)].filter(Boolean),
    post_logout_redirect_uris: [at(afterLogout)].filter(Boolean),
    backchannel_logout_uri: at(backchannel),
  };
}

/** The recipe that a registration looks like. Those behind Apache have the same addresses: the name tells them apart. */
export function recipeOf({ name: title, redirect_uris }) {
  const fits = ({ redirect }) => redirect && redirect_uris.some((uri) => uri.endsWith(redirect));
  const fitting = Object.keys(RECIPES).filter((name) => fits(RECIPES[name]));
  return fitting.find((name) => RECIPES[name].name === title) || fitting[0] || 'generic';
}

/** The addresses of this service, as programs find them. */
export async function provider() {
  const base = location.origin;
  const names = { authorization_endpoint: 'authorize', token_endpoint: 'token', userinfo_endpoint: 'userinfo', end_session_endpoint: 'logout' };
  const known = Object.fromEntries(Object.entries(names).map(([name, path]) => [name, `${base}/oidc/${path}`]));
  try {
    const response = await fetch('/.well-known/openid-configuration', { cache: 'no-store' });
    return { issuer: base, ...known, ...(response.ok ? await response.json() : {}) };
  } catch (_) {
    return { issuer: base, ...known };
  }
}

/** What is to be entered in a program, as pairs of a name and a value; `secret` is empty for a program without one. */
export function entriesOf(name, { client_id, redirect_uris, post_logout_redirect_uris: [afterLogout] }, secret, found) {
  const given = { issuer: found.issuer, provider: found, id: client_id, secret, redirect: redirect_uris[0], afterLogout };
  return RECIPES[name].entries(given).filter(([, value]) => value);
}
