// The client library: signing in, the session, the socket. A response is always {code, message, data}, where code 0 is success;
// nothing is ever thrown. Tokens and tickets are for scripts only: nothing here writes them into an address.

import { ask, get, post } from './api.js';

export { ask, get, post };
export { actsAsAgent, connect } from './socket.js';
export { Typewriter } from './typewriter.js';

const POLL_EVERY = 2000;

/**
 * Requests a QR code and follows it until the user is signed in, or it expires.
 * `onChange` gets, one after the other, `{status: 'waiting', qrcode_png_base64, qrcode_url, expires_in}`, perhaps
 * `{status: 'scanned', name, employee_id}`, and in the end `{status: 'confirmed', token}` or `{status: 'expired'}`;
 * or `{status: 'failed', message}`, when there is no code.
 * @param {'h5'|'itagent'|'itadmin'} client the requesting client
 * @param {(update: object) => void} onChange
 * @returns {() => void} stops following
 */
export function signInByCode(client, onChange) {
  const run = { onChange, close: [] };
  begin(client, run);
  return () => stop(run);
}

async function begin(client, run) {
  const { code, message, data } = await get(`/api/auth/qrcode?client=${encodeURIComponent(client)}`);
  if (run.over) return;
  if (code !== 0) {
    stop(run);
    run.onChange({ status: 'failed', message });
    return;
  }
  const { ticket, qrcode_url, qrcode_png_base64, expires_in } = data;
  run.query = `ticket=${encodeURIComponent(ticket)}`;
  run.end = Date.now() + expires_in * 1000;
  // Our clock only triggers a check; the service decides whether the code has expired.
  const late = setTimeout(() => poll(run), expires_in * 1000);
  run.close.push(() => clearTimeout(late), () => clearTimeout(run.timer));
  listen(run);
  run.onChange({ status: 'waiting', qrcode_url, qrcode_png_base64, expires_in });
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

function take(run, { status, name, employee_id, token }) {
  if (run.over) return;
  if (status === 'scanned') {
    run.onChange({ status, name, employee_id });
  } else if (status === 'confirmed' && token) {
    stop(run);
    run.onChange({ status, token });
  } else if (status === 'expired' || status === 'confirmed') {
    stop(run);
    run.onChange({ status: 'expired' });
  }
}

/**
 * Removes the fragment from the address: it may hold a secret, and users copy addresses. A fragment that begins with a slash is a
 * place in a page, and stays.
 */
export function takeFragment() {
  if (location.hash.startsWith('#/')) return new URLSearchParams();
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  return fragment;
}

/** Trades the ticket from the fragment; `data.token` is null where it is no longer valid. */
export const tradeTicket = (ticket) => get(`/api/auth/scan/status?ticket=${encodeURIComponent(ticket)}`);

/**
 * Begins a sign-in at the platform: go to `data.authorize_url` with `location.assign`.
 * @param {'client'|'web'} mode inside WeCom, or in any other browser
 * @param {string} redirectUri where to return to, with `#ticket=` in the fragment
 */
export function startOAuth(mode = 'client', redirectUri = location.origin + location.pathname) {
  return get(`/api/auth/oauth2/url?${new URLSearchParams({ redirect_uri: redirectUri, mode })}`);
}

/** Reads the signed-in user and the active role. */
export const me = (token) => get('/api/auth/me', token);

/** Makes another role the active one, which is then `data.current_role`. */
export const switchRole = (token, role) => post('/api/auth/switch-role', { role }, token);

/** Ends the session; it has ended once `code` is 0 or 1001, and not before. */
export const signOut = (token) => post('/api/auth/logout', {}, token);
