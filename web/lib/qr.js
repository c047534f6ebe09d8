// The QR code on the screen, and its progress.

import { get, signInByCode } from '../client/deskpass.js';
import { dropCode, keepCode, keptCode } from './kept-code.js';
import { $, countDown, tell } from './page.js';
import { say } from './words.js';

/** A code renews itself for this long after the last sign of a user: a page that everybody left must not go on for ever. */
const RENEWAL_PERIOD_MS = 15 * 60 * 1000;
/** How long the page waits after a failed attempt to get a code, or after a code that did not last. */
const RETRY_PAUSE_MS = 30 * 1000;
/** Why a code ended before its time, as far as the page has words for it. */
const REASONS = ['cancelled', 'wrong_number', 'not_a_member', 'no_role', 'left', 'disabled', 'address_not_allowed'];

/** Whether the platform is simulated; the service fills it in. */
const SIMULATED = '{platform.simulated}' === 'on';

let stops = [];
/** The last sign of a user at this page. */
let attendedAt = Date.now();
/** When the last new code was shown. */
let shownAt = 0;
/** Gets the next code, where the last one has expired. */
let renew = null;

/**
 * Shows a code for a client and follows it, the one of before a reload if it is still valid, unless `fresh`. `signedIn` gets the
 * token. An expired code is replaced while a user sees the page; `renewed` is called then. With `isRequest` the code is for the
 * request of another program, whose id is given instead of a client. `ended` is called when a code has expired or there is none,
 * `onScanned` when a phone has scanned it.
 */
export function showCode(client, options) {
  const { renewed, fresh = false, quiet = false, isRequest = false } = options;
  stopCode();
  // Screen readers need not hear that one code has replaced another.
  become('loading', say(quiet ? 'waiting' : 'loading'));
  const again = () => {
    renewed();
    showCode(client, { ...options, fresh: true, quiet: true });
  };
  const onChange = (update) => show(update, { ...options, client, again });
  const kept = fresh ? null : keptCode(client);
  shownAt = kept ? 0 : Date.now();
  stops.push(isRequest && !kept ? followRequest(client, onChange) : signInByCode(client, onChange, kept, { match: 'auto' }));
}

/** Gets a code for the request of another program, and follows it. */
function followRequest(request, onChange) {
  let [stop, isOver] = [() => {}, false];
  get(`/api/auth/qrcode?${new URLSearchParams({ request, match: 'auto' })}`).then(({ code, message, data }) => {
    if (isOver) return;
    if (code === 0) stop = signInByCode('h5', onChange, data);
    else onChange({ status: 'failed', message });
  });
  return () => {
    isOver = true;
    stop();
  };
}

/** Stops following. */
export function stopCode() {
  stops.forEach((stop) => stop());
  stops = [];
  renew = null;
}

function show(update, { client, signedIn, onScanned = () => {}, ended, again }) {
  const { status } = update;
  if (status === 'waiting') {
    keepCode(client, update);
    showPicture(update);
    become(status, say(status));
  } else if (status === 'scanned') {
    become(status, scannedBy(update, $('match-number').textContent));
    onScanned();
  } else {
    dropCode();
    stopCode();
    become(status, textFor(update));
    if (status === 'confirmed') signedIn(update.token);
    else if (!update.reason) {
      renewSoon(status, again);
      ended();
    }
  }
}

/** What the page says once a phone has scanned the code: who, and which number to pick there, if there is one. */
export function scannedBy({ name, employee_id }, number) {
  return say(number ? 'scanned_match' : 'scanned', { name: masked(name || employee_id), number });
}

/** What the page says about a code that has ended. */
export function textFor({ status, reason, message }) {
  if (status === 'failed') return message;
  if (!reason) return say(status);
  return say(REASONS.includes(reason) ? `code_${reason}` : 'code_refused');
}

/**
 * Replaces an expired code at once, and tries again later where there was none. Nobody sees a hidden page: it waits. A code that
 * expires at once is no use, as in a browser without cookies: then the page must not ask for one after the other.
 */
function renewSoon(status, again) {
  renew = again;
  const timer = setInterval(renewIfSeen, RETRY_PAUSE_MS);
  stops.push(() => clearInterval(timer));
  if (status === 'expired' && Date.now() - shownAt >= RETRY_PAUSE_MS) renewIfSeen();
}

function renewIfSeen() {
  const isSeen = document.visibilityState === 'visible' && Date.now() - attendedAt < RENEWAL_PERIOD_MS;
  if (renew && isSeen) renew();
}

function attend() {
  attendedAt = Date.now();
}

['pointerdown', 'keydown'].forEach((name) => window.addEventListener(name, attend, { capture: true, passive: true }));
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible') return;
  attend();
  renewIfSeen();
});

function showPicture({ qrcode_png_base64, qrcode_url, expires_in, match_number = '' }) {
  $('qr').src = `data:image/png;base64,${qrcode_png_base64}`;
  $('qr').alt = say('qr_alt');
  $('match-number').textContent = match_number;
  stops.push(countDown(expires_in, () => {}));
  offerSimulator(qrcode_url);
}

function become(state, text) {
  $('welcome').dataset.state = state;
  if ($('state').textContent !== text) tell('state', text);
  $('renew').hidden = state !== 'expired' && state !== 'failed';
  if (state !== 'waiting') $('simulated').hidden = true;
  const isOpen = state === 'waiting' || state === 'scanned';
  if (!isOpen) $('countdown').hidden = true;
  $('match').hidden = !isOpen || !$('match-number').textContent;
}

/** Enough of a name to be recognised by its owner, and not by other people who see the screen. */
export function masked(name) {
  const word = (text) => {
    const [first, ...rest] = Array.from(text);
    const last = /\p{Script=Han}/u.test(text) && rest.length > 1 ? rest.pop() : '';
    return first + '*'.repeat(rest.length) + last;
  };
  return name.split(/\s+/).filter(Boolean).map(word).join(' ');
}

/**
 * The address of the service's own simulated phone, else nothing: it exists in development only, here, or on this machine by
 * another of its names.
 */
export function simulatedPhone(address) {
  const url = new URL(address, location.href);
  const local = (name) => ['localhost', '127.0.0.1', '[::1]'].includes(name);
  const near = url.origin === location.origin || (local(url.hostname) && local(location.hostname));
  const isSimulated = url.pathname.startsWith('/sim/') || (SIMULATED && url.pathname === '/api/auth/qrcode/open');
  return near && isSimulated ? url.href : '';
}

function offerSimulator(address) {
  const simulated = simulatedPhone(address);
  if (simulated) $('simulated').href = simulated;
  $('simulated').hidden = !simulated;
}
