// Signing in again without leaving the page: a first device and a first password require a sign-in that is only minutes old.

import { me, signInByCode, signOut, startOAuth, switchRole } from '../client/deskpass.js';
import { fill, h } from '../lib/dom.js';
import { inPlatform, leave, onPhone, tab } from '../lib/page.js';
import { scannedBy, simulatedPhone, textFor } from '../lib/qr.js';
import './sign-in-again-words.js';
import { say } from '../lib/words.js';

const [NO_SESSION, REFUSED] = [1001, 1003];
const REASONS = ['recent_sign_in_needed', 'not_proven'];

/** Whether a response says that signing in again would help. */
export const needsSignIn = ({ code, data }) => code === REFUSED && Boolean(data) && REASONS.includes(data.reason);

/**
 * Asks the user to sign in again, and moves the page to the new session. Resolves to `{ renewed: true }`, to `{ setupCode }`
 * where `takesCode` allows an administrator's code instead, or to null when the user cancels. Where the user leaves the page for
 * the platform, `resume` names what the page continues with afterwards.
 */
export function signInAgain(desk, { takesCode = false, resume = '' } = {}) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    let stop = () => {};
    const close = (outcome) => {
      stop();
      dialog.onclose = null;
      dialog.remove();
      if (before && before.isConnected) before.focus();
      resolve(outcome);
    };
    const byPhone = inPlatform || onPhone ? throughPlatform(desk, resume) : byCode(desk, () => close({ renewed: true }));
    stop = byPhone.stop;
    const cancel = h('button', { class: 'button', type: 'button', 'data-act': 'cancel' }, say('cancel'));
    cancel.onclick = () => close(null);
    const dialog = h('dialog', { id: 'sign-in-again', 'aria-labelledby': 'again-title', 'aria-describedby': 'again-text' },
      h('h2', { id: 'again-title', tabindex: '-1' }, say('again_title')),
      h('p', { class: 'lead', id: 'again-text' }, say(inPlatform || onPhone ? 'again_here' : 'again_scan')),
      byPhone.element,
      takesCode && setupCodeForm((setupCode) => close({ setupCode })),
      cancel);
    dialog.onclose = () => close(null);
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector('h2').focus({ preventScroll: true });
  });
}

/** A QR code and its progress; `renewed()` is called once the page is in the new session. */
function byCode(desk, renewed) {
  const picture = h('img', { alt: say('qr_alt'), width: 248, height: 248 });
  const again = h('button', { class: 'button main', id: 'again-renew', type: 'button', hidden: true }, say('again_renew'));
  const state = h('p', { class: 'state', id: 'again-state', role: 'status' });
  const number = h('strong', { id: 'again-number' });
  const match = h('p', { class: 'match', hidden: true }, `${say('match')} `, number);
  const phone = h('a', { id: 'again-simulated', target: '_blank', rel: 'noopener', hidden: true }, say('again_simulated'));
  const element = h('div', { class: 'again' }, h('div', { class: 'tile' }, picture, again), match, state, phone);
  const become = (status, text) => {
    element.dataset.state = status;
    state.textContent = text;
    again.hidden = status !== 'expired' && status !== 'failed';
    if (status !== 'waiting') phone.hidden = true;
    match.hidden = !['waiting', 'scanned'].includes(status) || !number.textContent;
  };
  let [follow, settle] = [() => {}, () => {}];
  const onChange = async (update) => {
    const { status, token } = update;
    if (!element.isConnected) {
      // The dialog is closed, and its session is not used.
      stop();
      if (token) hasEnded(token);
    } else if (status === 'waiting') {
      picture.src = `data:image/png;base64,${update.qrcode_png_base64}`;
      fill(number, update.match_number);
      const simulated = simulatedPhone(update.qrcode_url);
      phone.hidden = !simulated;
      if (simulated) phone.href = simulated;
      become(status, say(status));
    } else if (status === 'scanned') {
      become(status, scannedBy(update, number.textContent));
    } else if (status === 'confirmed') {
      become(status, say('loading'));
      const why = await renew(desk, token);
      settle();
      if (why) become('failed', why);
      else renewed();
    } else {
      settle();
      become(status, textFor(update));
    }
  };
  const stop = () => {
    follow();
    settle();
  };
  const begin = () => {
    stop();
    settle = desk.awaitRenewal();
    become('loading', say('loading'));
    follow = signInByCode(desk.client, onChange, null, { match: 'auto' });
  };
  again.onclick = begin;
  begin();
  return { element, stop };
}

/** A phone cannot scan its own screen: the user goes to the platform and returns, and `resumed` continues. */
function throughPlatform(desk, resume) {
  const refusal = h('p', { class: 'refusal', role: 'alert', hidden: true });
  const go = h('button', { class: 'button main', id: 'again-here', type: 'button' }, say('again_go'));
  go.onclick = async () => {
    go.disabled = true;
    const answer = await startOAuth(inPlatform ? 'client' : 'web');
    if (answer.code === 0) setOut(desk, answer.data.authorize_url, resume);
    else fill(refusal, answer.message).hidden = false;
    go.disabled = false;
  };
  return { element: h('div', { class: 'again' }, refusal, go), stop: () => {} };
}

/** Leaves for the platform, and stores the user, the place and the time for the return. */
function setOut({ token, me: { employee_id, corp_id, current_role } }, address, resume) {
  const kept = { token, employee_id, corp_id, current_role, hash: location.hash, at: Date.now(), resume };
  tab.set('again', JSON.stringify(kept));
  leave(address, (url) => location.assign(url));
}

/** For an employee who has a code from an administrator and no phone at hand. */
function setupCodeForm(send) {
  const input = h('input', {
    id: 'again-code', name: 'setup_code', required: true, maxlength: '40', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
  });
  const form = h('form', { id: 'again-code-form' },
    h('div', { class: 'field' }, h('label', { for: 'again-code' }, say('again_code')), input),
    h('button', { class: 'button small', type: 'submit' }, say('again_code_go')));
  form.onsubmit = (event) => {
    event.preventDefault();
    send(input.value.trim());
  };
  return h('details', {}, h('summary', {}, say('again_has_code')), form);
}

const isSamePerson = (one, other) => one.employee_id === other.employee_id && one.corp_id === other.corp_id;

/** The user of a new token, in the role they had before; nothing where it is another user. */
async function samePerson(token, before, otherPerson) {
  const answer = await me(token);
  if (answer.code !== 0) return { why: answer.message };
  const person = answer.data;
  if (!isSamePerson(person, before)) return { why: say(otherPerson) };
  if (before.current_role && person.current_role !== before.current_role) {
    const switched = await switchRole(token, before.current_role);
    if (switched.code === 0) person.current_role = before.current_role;
  }
  return { person };
}

/** Ends a session, with one retry; returns whether it has ended. */
async function hasEnded(token) {
  const isOver = async () => [0, NO_SESSION].includes((await signOut(token)).code);
  return (await isOver()) || isOver();
}

/** Moves the page to a new session and ends the previous one; returns the reason of a failure, or nothing. */
async function renew(desk, token) {
  const { person, why } = await samePerson(token, desk.me, 'again_other_person');
  if (why || desk.over) {
    // An unused session must not stay.
    await hasEnded(token);
    return why || say('ended');
  }
  const before = desk.token;
  desk.adopt(token, person);
  if (!(await hasEnded(before))) desk.say(say('again_not_ended'), true);
  return '';
}

/**
 * Continues after `throughPlatform`, at the place that was left. Returns the `token` to continue with, and `why` where there is
 * something to tell: the new session is used for the same user; for another user the previous one stays and the new one ends.
 */
export async function resumed(token) {
  const kept = JSON.parse(tab.get('again') || '{}');
  tab.drop('again');
  if (String(kept.hash).startsWith('#/')) history.replaceState(null, '', kept.hash);
  if (kept.token === token) return { token };
  const { person, why } = await samePerson(token, kept, 'again_other_came');
  if (person) {
    tab.set('resume', kept.resume || '');
    return { token, why: (await hasEnded(kept.token)) ? '' : say('again_not_ended') };
  }
  await hasEnded(token);
  return { token: kept.token, why };
}
