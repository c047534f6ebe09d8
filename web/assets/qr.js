// The code on the screen: shown, followed until the phone has confirmed, traded for a token.

import { get } from './api.js';
import { $, countDown, tell } from './page.js';
import { say } from './words.js';

const POLL_EVERY = 2000;
let run = null;

/** Shows a new code for a client and follows it; `signedIn` gets the token. */
export async function showCode(client, signedIn) {
  stopCode();
  const mine = (run = { signedIn, close: [] });
  become('loading', say('loading'));
  const answer = await get(`/api/auth/qrcode?client=${client}`);
  if (mine !== run) return;
  if (answer.code !== 0) {
    become('failed', answer.message);
    return;
  }
  const { ticket, qrcode_url, qrcode_png_base64, expires_in } = answer.data;
  $('qr').src = `data:image/png;base64,${qrcode_png_base64}`;
  $('qr').alt = say('qr_alt');
  become('waiting', say('waiting'));
  mine.query = `ticket=${encodeURIComponent(ticket)}`;
  // Our clock only suspects; whether the code is over is for the desk to say.
  mine.close.push(countDown(expires_in, () => { mine.late = true; poll(mine); }));
  listen(mine);
  offerSimulator(qrcode_url);
}

/** Stops following. */
export function stopCode() {
  if (run) run.close.forEach((close) => close());
  run = null;
}

function listen(mine) {
  if (!window.EventSource) {
    poll(mine);
    return;
  }
  const events = new EventSource(`/api/auth/scan/events?${mine.query}`);
  mine.close.push(() => events.close());
  mine.hangUp = () => events.close();
  events.addEventListener('status', (event) => heard(mine, parsed(event.data)));
  events.onerror = () => poll(mine);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (_) {
    return {};
  }
}

async function poll(mine) {
  if (mine !== run) return;
  if (mine.hangUp) mine.hangUp();
  clearTimeout(mine.timer);
  const asked = (mine.asked = {});
  const answer = await get(`/api/auth/scan/status?${mine.query}`);
  if (mine !== run || mine.asked !== asked) return;
  heard(mine, answer.code === 0 ? answer.data : { status: mine.late ? 'expired' : '' });
  if (mine !== run) return;
  mine.timer = setTimeout(() => poll(mine), POLL_EVERY);
}

function heard(mine, { status, name, employee_id, token }) {
  if (mine !== run) return;
  if (status === 'scanned') {
    become('scanned', say('scanned', { name: name || employee_id }));
  } else if (status === 'confirmed' && token) {
    stopCode();
    become('confirmed', say('confirmed'));
    mine.signedIn(token);
  } else if (status === 'expired' || status === 'confirmed') {
    stopCode();
    become('expired', say('expired'));
  }
}

function become(state, text) {
  $('welcome').dataset.state = state;
  if ($('state').textContent !== text) tell('state', text);
  $('renew').hidden = state !== 'expired' && state !== 'failed';
  if (state !== 'waiting') $('simulated').hidden = true;
  if (state !== 'waiting' && state !== 'scanned') $('countdown').hidden = true;
}

/** The desk's own simulated phone exists in development only: here, or on this machine by another of its names. */
function offerSimulator(address) {
  const url = new URL(address, location.href);
  const local = (name) => ['localhost', '127.0.0.1', '[::1]'].includes(name);
  const near = url.origin === location.origin || (local(url.hostname) && local(location.hostname));
  const here = near && url.pathname.startsWith('/sim/');
  if (here) $('simulated').href = url.href;
  $('simulated').hidden = !here;
}
