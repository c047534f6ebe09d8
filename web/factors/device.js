// Binding a device for one-time passwords.

import { codeField, problems } from '../components/dialog.js';
import './device-words.js';
import { fill, h } from '../lib/dom.js';
import { copy } from '../components/listing.js';
import { recoveryCodes } from './recovery-codes.js';
import { needsSignIn } from './sign-in-again.js';
import { say } from '../lib/words.js';

const [CODE_WRONG, BOUND, OVER] = [1008, 1010, 1019];

/**
 * Fills a place with all steps to bind a device. `post(path, body)` calls the service, `tell(text, bad)` shows a message,
 * `hold(text, isHeld)` asks for confirmation before the user leaves, `owner` is the owner of the device, `heading` and `titleId`
 * are for its titles, `cancel()` is called when the user cancels, and `done(data)` with the response once the user has seen the
 * recovery codes. `again()` has the user sign in again, where that is possible in place.
 */
export async function setUpDevice(place, given, { setupCode, isRepeated = false } = {}) {
  fill(place, titled(given, 'device_scan'), h('p', { class: 'lead', role: 'status' }, say('loading')));
  const answer = await given.post('/api/auth/otp-setup', setupCode ? { setup_code: setupCode } : {});
  if (answer.code === 0) showPicture(place, answer.data, given);
  else if (given.again && !isRepeated && needsSignIn(answer)) await signInFirst(place, given);
  else showTrouble(place, answer.code === BOUND ? say('device_there') : problems(answer), given);
}

/** Continues with a new session, or with a setup code; a user who cancels is where they were. */
async function signInFirst(place, given) {
  const outcome = await given.again();
  if (outcome) await setUpDevice(place, given, { ...outcome, isRepeated: true });
  else given.cancel();
}

const titled = ({ heading, titleId }, word) => h(heading, { tabindex: '-1', id: titleId }, say(word));

function showTrouble(place, text, given) {
  const onclick = () => setUpDevice(place, given);
  const again = h('button', { class: 'button small', type: 'button', onclick }, say('device_again'));
  fill(place, titled(given, 'device_scan'), h('p', { class: 'refusal', role: 'alert' }, text),
    h('div', { class: 'row' }, again, cancelButton(given, ' small')));
  again.focus();
}

const cancelButton = ({ cancel }, look) =>
  h('button', { class: `button${look}`, type: 'button', 'data-act': 'cancel', onclick: cancel }, say('device_cancel'));

function showPicture(place, setup, given) {
  const title = titled(given, 'device_scan');
  const refusal = h('p', { class: 'refusal', id: 'device-refusal', role: 'alert', hidden: true });
  const go = h('button', { class: 'button main', type: 'submit' }, say('device_bind'));
  const form = h('form', { class: 'steps-form', id: 'device-form', autocomplete: 'off' },
    codeField({ id: 'device-code' }), refusal, h('div', { class: 'choice' }, cancelButton(given, ''), go));
  form.onsubmit = (event) => {
    event.preventDefault();
    bind({ place, form, go, refusal, given });
  };
  fill(place, title, h('p', { class: 'lead' }, say('device_how')), pictureAndKey(setup, given), form);
  title.focus({ preventScroll: true });
}

function pictureAndKey({ secret, qrcode_png_base64 }, { tell }) {
  const address = `data:image/png;base64,${qrcode_png_base64}`;
  const copyKey = () => copy({ say: tell }, secret);
  return h('div', { class: 'device' },
    h('div', { class: 'tile' }, h('img', { src: address, alt: say('device_picture'), width: 200, height: 200 })),
    h('div', {},
      h('p', { class: 'hint' }, say('device_type')),
      h('p', { class: 'secret' }, h('code', { id: 'device-secret' }, inGroups(secret))),
      h('button', { class: 'button small', type: 'button', 'data-act': 'copy', onclick: copyKey }, say('copy_secret'))));
}

/** Groups of four characters, since people type it. */
const inGroups = (secret) => secret.replace(/(.{4})(?=.)/g, '$1 ');

async function bind({ place, form, go, refusal, given }) {
  go.disabled = true;
  refusal.hidden = true;
  const answer = await given.post('/api/auth/otp-bind', { code: form.elements.code.value.replace(/\s/g, '') });
  go.disabled = false;
  if (answer.code === 0) {
    showCodes(place, answer.data, given);
  } else if (answer.code === OVER || answer.code === BOUND) {
    showTrouble(place, say(answer.code === OVER ? 'device_over' : 'device_there'), given);
  } else {
    fill(refusal, answer.code === CODE_WRONG ? say('code_wrong_device') : problems(answer));
    refusal.hidden = false;
    form.elements.code.select();
  }
}

/** Shows the codes once: a user who continues confirms that they have them. */
function showCodes(place, data, given) {
  const title = titled(given, 'codes_title');
  if (given.hold) given.hold(say('codes_unkept'), () => title.isConnected);
  fill(place, title, recoveryCodes(data.recovery_codes, { ...given, done: () => given.done(data) }));
  title.focus({ preventScroll: true });
}
