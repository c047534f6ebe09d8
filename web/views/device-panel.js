// The state of the user's device for one-time passwords, and its actions.

import { setUpDevice } from '../factors/device.js';
import { field, question } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { moment, panel } from '../components/listing.js';
import '../factors/password-words.js';
import { whyNotIn } from '../factors/refusals.js';
import './security-words.js';
import { signInAgain } from '../factors/sign-in-again.js';
import { say } from '../lib/words.js';

const CODE_WRONG = 1008;
const FEW = 3;

/** The panel; `own.status` is the response of `otp-status`. */
export function devicePanel(desk, own) {
  const inside = h('div', { class: 'inside', id: 'device' });
  const element = panel(say('otp_title'), { id: 'one-time-password' }, inside);
  showStatus(desk, own, inside);
  return element;
}

function showStatus(desk, own, inside) {
  fill(inside, own.status.bound ? bound(desk, own, inside) : missing(desk, own, inside));
}

/** Reads the state again, and moves the focus to the top. */
async function refresh(desk, own, inside) {
  const { code, data } = await desk.get('/api/auth/otp-status');
  if (code === 0) own.status = data;
  // The device is set up, removed or confirmed: the next operation that needs it looks again.
  desk.confirmsChanges = false;
  showStatus(desk, own, inside);
  const title = inside.parentNode.querySelector('h2');
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

function missing(desk, own, inside) {
  return [
    h('p', {}, h('span', { class: 'tag warm' }, say('otp_missing'))),
    h('p', { class: 'lead' }, say(own.status.agent ? 'otp_why' : 'otp_why_no_agent')),
    h('button', { class: 'button small main', id: 'device-set-up', onclick: () => setUp(desk, own, inside) }, say('otp_set_up')),
  ];
}

function setUp(desk, own, inside) {
  setUpDevice(inside, {
    heading: 'h3',
    titleId: 'device-title',
    owner: desk.me.employee_id,
    post: (path, body) => desk.post(path, body),
    tell: (text, bad) => desk.say(text, bad),
    hold: (text, isHeld) => desk.places.hold(text, isHeld),
    cancel: () => refresh(desk, own, inside),
    again: () => again(desk, own, { takesCode: true }),
    done: async () => {
      await refresh(desk, own, inside);
      desk.say(say('otp_bound_now'));
    },
  });
}

/** Has the user sign in again; the list of sessions shows the new one. */
async function again(desk, own, options) {
  const outcome = await signInAgain(desk, options);
  if (outcome && outcome.renewed) own.changed();
  return outcome;
}

function bound(desk, own, inside) {
  const { bound_at, last_verified_at, proven, recovery_codes } = own.status;
  const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  const act = (name, run, danger) =>
    h('button', { class: `button small${danger ? ' danger' : ''}`, 'data-act': name, onclick: run }, say(`otp_${name}`));
  return [
    h(
      'p',
      {},
      h('span', { class: 'tag good' }, say('otp_bound')),
      !proven && h('span', { class: 'tag warm' }, say('otp_unproven')),
    ),
    h(
      'dl',
      {},
      fact(say('otp_since'), moment(bound_at)),
      fact(say('otp_used'), last_verified_at ? moment(last_verified_at) : say('otp_never')),
      fact(say('codes_left'), String(recovery_codes)),
    ),
    !proven && h('p', { class: 'lead' }, say('otp_prove_why')),
    recovery_codes < FEW && h('p', { class: 'warning' }, say('codes_few')),
    h(
      'div',
      { class: 'row' },
      act(proven ? 'try' : 'prove', () => verify(desk, own, inside)),
      act('unbind', () => unbind(desk, own, inside), true),
    ),
  ];
}

const anyCode = () =>
  field(
    say('code_or_recovery'),
    {
      name: 'code',
      required: true,
      maxlength: '40',
      autocomplete: 'one-time-code',
      autocapitalize: 'none',
      autocorrect: 'off',
      spellcheck: 'false',
    },
    say('code_or_recovery_hint'),
  );

const refusal = (answer) => (answer.code === CODE_WRONG ? say('code_wrong') : whyNotIn(answer));

/** Submits a code. A code that is to prove the authenticator counts only minutes after a sign-in through the platform. */
async function verify(desk, own, inside) {
  // The state may have changed since the page was opened.
  const now = await desk.get('/api/auth/otp-status');
  if (now.code === 0) own.status = now.data;
  // Pressed twice: one dialog is enough.
  if (document.querySelector('dialog[open]')) return;
  if (!own.status.proven && !own.status.recent_sign_in && !(await again(desk, own))) return;
  const answer = await question({
    title: say('otp_try_title'),
    text: say('otp_try_text'),
    fields: [anyCode()],
    action: say('otp_check'),
    refusal,
    send: ({ code }) => desk.post('/api/auth/otp-verify', { code: code.trim() }),
  });
  if (!answer) return;
  await refresh(desk, own, inside);
  desk.say(say('otp_works'));
}

async function unbind(desk, own, inside) {
  const answer = await question({
    title: say('otp_unbind_title'),
    text: say('otp_unbind_text'),
    fields: [anyCode()],
    action: say('otp_unbind'),
    danger: true,
    refusal,
    send: ({ code }) => desk.post('/api/auth/otp-unbind', { code: code.trim() }),
  });
  if (!answer) return;
  await refresh(desk, own, inside);
  desk.say(say('otp_unbound'));
}
