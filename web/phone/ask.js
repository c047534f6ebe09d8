// One question, to agree to or to refuse: shared by the pages of the phone and of "continue?".

import './ask-words.js';
import { post, takeFragment } from '../client/deskpass.js';
import { guard } from '../lib/guard.js';
import { $, countDown, explain, show, tab, tell } from '../lib/page.js';
import { language, say } from '../lib/words.js';

// The secret is malformed, unknown, used or too old: the page treats all of them alike.
const OVER = [1002, 1004, 1019];
const REFUSED = 1003;
const FINAL_REASONS = ['no_role', 'disabled', 'holder_unconfirmed', 'not_asked', 'phone_needed', 'wrong_number'];
/** The words with which the service explains, besides those of a sign-in, why a phone cannot answer. */
const PHONE_ERRORS = ['not_asked', 'phone_needed', 'question_over', 'wrong_number'];
let [stopClock, stopGuards] = [() => {}, []];

/** The secret from the address, or kept for a reload; an error is shown at once, and gives none. `nothing` names the text for none. */
export function takeSecret(name, nothing = 'nothing') {
  const fragment = takeFragment();
  if (fragment.has('error')) {
    tab.drop(name);
    end(explain(fragment, PHONE_ERRORS));
    return null;
  }
  if (fragment.get(name)) tab.set(name, fragment.get(name));
  const secret = fragment.get(name) || tab.get(name);
  if (!secret) end({ title: say(nothing), text: say(`${nothing}_text`) });
  return secret;
}

/**
 * Shows the question until it expires. `yes` is the button that agrees: it is enabled once the question was visible and untouched
 * for a while, and `read` is called then. Several buttons in a list are guarded together; `label` counts their seconds down. Where
 * `sure` is given, that checkbox is guarded instead, and the button only after it is ticked: presses at one place cannot do both.
 */
export function ask({ title, seconds, over, yes, label = yes, sure = null, read = () => {} }) {
  $('ask-title').textContent = title;
  stopClock();
  unguard();
  stopClock = countDown(seconds, over);
  show('ask');
  if (sure) guardInTurn(sure, { yes, label, read });
  else stopGuards.push(guard(yes, label, once(read)));
}

function guardInTurn(sure, { yes, label, read }) {
  sure.checked = false;
  [yes].flat().forEach((button) => { button.disabled = true; });
  stopGuards.push(guard(sure, sure.nextElementSibling, once(read)));
  sure.onchange = () => {
    // The checkbox was guarded once; from now on it may be changed at any time.
    unguard();
    sure.disabled = false;
    if (sure.checked) stopGuards.push(guard(yes, label));
  };
}

function once(run) {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}

function unguard() {
  stopGuards.forEach((stop) => stop());
  stopGuards = [];
}

/** Sends one answer; until it completes no other can be given. */
export async function send(path, body) {
  // A button that is still guarded stays so.
  const buttons = [...document.querySelectorAll('.choice button')].filter((button) => !button.disabled);
  const lock = (locked) => buttons.forEach((button) => { button.disabled = locked; });
  const pressed = document.activeElement;
  lock(true);
  tell('refusal', '');
  const answer = await post(path, body);
  lock(false);
  pressed.focus();
  return answer;
}

/** Retries what failed without a network once the network is back. */
window.addEventListener('online', () => !$('again').hidden && $('again').click());

/** The reason why the user may not sign in at all, where a retry would not help; else null. */
export function finalRefusal({ code, data, ref }) {
  const reason = data && data.reason;
  return code === REFUSED && FINAL_REASONS.includes(reason) ? explain(new URLSearchParams({ error: reason, ref }), PHONE_ERRORS) : null;
}

/** Whether a refusal means that the question has expired. */
export const isOver = ({ code }) => OVER.includes(code);

/** The time at which a question was asked, to the second. */
export function timeOf(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return say('unknown');
  return moment.toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** Shows the result; `pending` where it is not final yet, `next` where the page's link leads to what the user should do. */
export function end({ title, text, ref = '', good = false, pending = false, again = null, next = false }) {
  stopClock();
  unguard();
  $('outcome-title').textContent = title;
  tell('outcome-text', text);
  tell('outcome-ref', ref);
  $('outcome').classList.toggle('good', good);
  $('outcome').classList.toggle('pending', pending);
  $('again').hidden = !again;
  $('again').onclick = again;
  if ($('next')) $('next').hidden = !next;
  show('outcome');
}
