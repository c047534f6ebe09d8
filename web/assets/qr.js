// The QR code on the screen, and its progress.

import { signInByCode } from './deskpass.js';
import { $, countDown, tell } from './page.js';
import { say } from './words.js';

let stops = [];
/** The expiry of the code, by the clock of this browser. */
let good = 0;

/** Shows a new code for a client and follows it; `signedIn` gets the token. */
export function showCode(client, signedIn) {
  stopCode();
  become('loading', say('loading'));
  stops.push(signInByCode(client, (update) => show(update, signedIn)));
}

/** Stops following. */
export function stopCode() {
  stops.forEach((stop) => stop());
  stops = [];
}

function show(update, signedIn) {
  const { status } = update;
  if (status === 'waiting') {
    showPicture(update);
    become(status, say(status));
  } else if (status === 'scanned') {
    become(status, say(status, { name: masked(update.name || update.employee_id) }));
    // The signed-in page is needed next: it loads while the user looks at the phone.
    import('./desk.js');
  } else {
    const word = turnedDown(status) ? 'cancelled' : status;
    stopCode();
    become(status, status === 'failed' ? update.message : say(word));
  }
  if (status === 'confirmed') signedIn(update.token);
}

/** Whether the code ended early after a scan: the user refused, or may not sign in. */
const turnedDown = (status) => status === 'expired' && $('welcome').dataset.state === 'scanned' && Date.now() < good;

function showPicture({ qrcode_png_base64, qrcode_url, expires_in }) {
  $('qr').src = `data:image/png;base64,${qrcode_png_base64}`;
  $('qr').alt = say('qr_alt');
  good = Date.now() + expires_in * 1000;
  stops.push(countDown(expires_in, () => {}));
  offerSimulator(qrcode_url);
}

function become(state, text) {
  $('welcome').dataset.state = state;
  if ($('state').textContent !== text) tell('state', text);
  $('renew').hidden = state !== 'expired' && state !== 'failed';
  if (state !== 'waiting') $('simulated').hidden = true;
  if (state !== 'waiting' && state !== 'scanned') $('countdown').hidden = true;
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
  return near && url.pathname.startsWith('/sim/') ? url.href : '';
}

function offerSimulator(address) {
  const simulated = simulatedPhone(address);
  if (simulated) $('simulated').href = simulated;
  $('simulated').hidden = !simulated;
}
