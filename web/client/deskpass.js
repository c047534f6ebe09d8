// The client module: signing in, the session, the socket. A response is always {code, message, data}, where code 0 is success;
// nothing is ever thrown. Tokens and tickets are for scripts only: nothing here writes them into an address.
// `deskpass.d.ts` declares every export for TypeScript; a test compares the two.

import { ask, get, post } from './api.js';

export { ask, get, post };
export { actsAsAgent, connect } from './socket.js';
export { Typewriter } from './typewriter.js';

const POLL_EVERY = 2000;
/** The words with which the service explains a sign-in at the platform that failed. */
export const SIGN_IN_ERRORS = ['denied', 'invalid_code', 'not_a_member', 'no_role', 'disabled', 'holder_unconfirmed', 'platform_unavailable', 'internal'];

/**
 * Requests a QR code and follows it until the user is signed in, or it expires.
 * `onChange` gets, one after the other, `{status: 'waiting', ticket, qrcode_png_base64, qrcode_url, expires_in}`, perhaps
 * `{status: 'scanned', name, employee_id}`, and in the end `{status: 'confirmed', token}` or `{status: 'expired', reason}`, where
 * `reason` says why it ended before its time, else it is empty; or `{status: 'failed', message}`, when there is no code.
 * A page that shows the user `match_number` says so: then `waiting` may have one, and the phone asks for it.
 * @param {'h5'|'itagent'|'itadmin'} client the requesting client
 * @param {(update: object) => void} onChange
 * @param {object} [known] follows this code instead, from an earlier `waiting`: it is good for one browser, also after a reload
 * @param {{match?: 'auto'|'1'}} [options] `match`: the page shows `match_number`, where the settings want one (`auto`), or always
 * @returns {() => void} stops following
 */
export function signInByCode(client, onChange, known = null, options = {}) {
  const run = { onChange, close: [] };
  begin(new URLSearchParams({ client, ...options }), run, known);
  return () => stop(run);
}

async function begin(wanted, run, known) {
  const answer = known ? { code: 0, data: known } : await get(`/api/auth/qrcode?${wanted}`);
  const { code, message, data } = answer;
  if (run.over) return;
  if (code !== 0) {
    stop(run);
    run.onChange({ status: 'failed', message });
    return;
  }
  const { ticket, qrcode_url, qrcode_png_base64, expires_in, match_number } = data;
  run.query = `ticket=${encodeURIComponent(ticket)}`;
  run.end = Date.now() + expires_in * 1000;
  // Our clock only triggers a check; the service decides whether the code has expired.
  const late = setTimeout(() => poll(run), expires_in * 1000);
  run.close.push(() => clearTimeout(late), () => clearTimeout(run.timer));
  listen(run);
  run.onChange({ status: 'waiting', ticket, qrcode_url, qrcode_png_base64, expires_in, match_number });
}

function stop(run) {
  run.over = true;
  run.close.forEach((close) => close());
}

function listen(run) {
  if (!window.EventSource) {
    poll(run);
    return;
  }
  const events = new EventSource(`/api/auth/scan/events?${run.query}`);
  run.hangUp = () => events.close();
  run.close.push(run.hangUp);
  events.addEventListener('status', (event) => take(run, parsed(event.data)));
  events.onerror = () => poll(run);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (_) {
    return {};
  }
}

async function poll(run) {
  if (run.over) return;
  if (run.hangUp) run.hangUp();
  clearTimeout(run.timer);
  const asked = (run.asked = {});
  const answer = await get(`/api/auth/scan/status?${run.query}`);
  if (run.over || run.asked !== asked) return;
  take(run, answer.code === 0 ? answer.data : { status: Date.now() >= run.end ? 'expired' : '' });
  if (!run.over) run.timer = setTimeout(() => poll(run), POLL_EVERY);
}

function take(run, { status, name, employee_id, token, reason = '' }) {
  if (run.over) return;
  if (status === 'scanned') {
    run.onChange({ status, name, employee_id });
  } else if (status === 'confirmed' && token) {
    stop(run);
    run.onChange({ status, token });
  } else if (status === 'expired' || status === 'confirmed') {
    stop(run);
    run.onChange({ status: 'expired', reason });
  }
}

/**
 * Removes the fragment from the address and returns it: it may hold a secret, and users copy addresses. A fragment that begins
 * with a slash is a place in a page, and stays.
 * @returns {URLSearchParams} the members of the fragment; empty without one
 */
export function takeFragment() {
  if (location.hash.startsWith('#/')) return new URLSearchParams();
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  return fragment;
}

/**
 * Trades the ticket from the fragment.
 * @param {string} ticket
 * @returns {Promise<object>} a response; `data.token` is null where the ticket is no longer valid
 */
export const tradeTicket = (ticket) => get(`/api/auth/scan/status?ticket=${encodeURIComponent(ticket)}`);

/**
 * Begins a sign-in at the platform: go to `data.authorize_url` with `location.assign`.
 * @param {'client'|'web'} [mode] inside the platform's app, or in any other browser
 * @param {string} [redirectUri] where to return to; this page unless given
 * @returns {Promise<object>} a response; `data` is `{authorize_url, redirect_uri}`
 */
export function startOAuth(mode = 'client', redirectUri = location.origin + location.pathname) {
  return get(`/api/auth/oauth2/url?${new URLSearchParams({ redirect_uri: redirectUri, mode })}`);
}

/**
 * Handles the return from the platform, which loads the page with `?code&state`: passes both on to the service, which redirects
 * to this page with the outcome in the fragment.
 * @returns {'none'|'leaving'|'denied'} `leaving`: the browser is on its way to the service, so do nothing more; `denied`: the
 *   user refused, and the address is clean again; `none`: the page was not loaded by the platform
 */
export function returnFromPlatform() {
  const query = new URLSearchParams(location.search);
  if (!query.has('state')) return 'none';
  if (query.has('code')) {
    const pass = new URLSearchParams({ code: query.get('code'), state: query.get('state') });
    location.replace(`/api/auth/oauth2/callback?${pass}`);
    return 'leaving';
  }
  // The platform reports a refusal by the user as a state without a code.
  history.replaceState(null, '', location.pathname);
  return 'denied';
}

/**
 * Finishes a sign-in at the platform, whichever step the page was loaded for. Call it first on every load of the page.
 * @returns {Promise<object>} by `status`: `none`, the page was not loaded for a sign-in; `leaving`, do nothing more;
 *   `signed_in` with `token`; `bind` with `bind_ticket` and `scanned`, ask for the employee and call `/api/auth/bind`;
 *   `refused` with `error`, a word of the callback, and `ref`; `expired`, the ticket is no longer valid; `failed` with
 *   `message`, the service did not answer
 */
export async function finishSignIn() {
  const returned = returnFromPlatform();
  if (returned === 'leaving') return { status: 'leaving' };
  if (returned === 'denied') return { status: 'refused', error: 'denied', ref: '' };
  const fragment = takeFragment();
  if (fragment.has('ticket')) return traded(await tradeTicket(fragment.get('ticket')));
  if (fragment.has('bind_ticket')) {
    return { status: 'bind', bind_ticket: fragment.get('bind_ticket'), scanned: fragment.get('scanned') === '1' };
  }
  if (fragment.has('error')) return refusedBy(fragment);
  return { status: 'none' };
}

function traded({ code, message, data }) {
  if (code !== 0) return { status: 'failed', message };
  return data.token ? { status: 'signed_in', token: data.token } : { status: 'expired' };
}

/** Links can be forged: of what they say, only a known word and a short reference are passed on. */
function refusedBy(fragment) {
  const [error, ref] = [fragment.get('error'), fragment.get('ref') || ''];
  return {
    status: 'refused',
    error: SIGN_IN_ERRORS.includes(error) ? error : 'internal',
    ref: /^[0-9A-Za-z]{1,16}$/.test(ref) ? ref : '',
  };
}

/**
 * Reads the signed-in user and the active role.
 * @param {string} token
 * @returns {Promise<object>} a response; `data` is the user
 */
export const me = (token) => get('/api/auth/me', token);

/**
 * Makes another role the active one.
 * @param {string} token
 * @param {string} role
 * @returns {Promise<object>} a response; `data.current_role` is the active role
 */
export const switchRole = (token, role) => post('/api/auth/switch-role', { role }, token);

/**
 * Ends the session.
 * @param {string} token
 * @returns {Promise<object>} a response; the session has ended once `code` is 0 or 1001, and not before
 */
export const signOut = (token) => post('/api/auth/logout', {}, token);

/**
 * Replies to a message of the socket.
 * @param {string} token
 * @param {{message_id: string, option?: *, text?: string}} given the `id` of the message, and either an option as it was in the
 *   message or a text of 1 to 2000 characters
 * @returns {Promise<object>} a response; the help desk has accepted the reply once `code` is 0, and not before
 */
export const reply = (token, given) => post('/api/messages/reply', given, token);
