// Operations that must be confirmed: with a code from the authenticator, or on the user's own phone. Both are asked for together
// with the fields of the operation.

import { codeField, problems, question } from '../components/dialog.js';
import { h } from '../lib/dom.js';
import { say } from '../lib/words.js';

const [CODE_NEEDED, CODE_WRONG, NO_DEVICE] = [1007, 1008, 1009];
/** The question was closed in order to set up or confirm the authenticator; then it is asked again. */
const DEVICE_FIRST = { code: 'device-first' };
/** Where it cannot be read how the user confirms changes, the service decides, and its refusal is shown. */
const UNKNOWN = { code: true, phone: false, mayBind: false };

/**
 * Runs an operation that must be confirmed: asks for that together with the other fields. `what` has `method`, `path`, `body` (or
 * a function of the fields' values), `title`, `text`, `action`, `fields`, `danger`. A user whose authenticator is missing or not
 * confirmed approves on the phone; where that is not possible, they set up the authenticator before any code is asked for, and then
 * continue. Resolves to the response, or to null.
 */
export async function risky(desk, { method, path, body, fields = [], ...asked }) {
  const bodyOf = ({ code: _, ...values }) => (typeof body === 'function' ? body(values) : body);
  const byCode = (values) => desk.ask(method, path, bodyOf(values), { code: values.code.replace(/\s/g, '') });
  const byPhone = async (values, step) => {
    const module = await import('./phone-approval.js').catch(() => null);
    if (!module) return { code: -1, message: say('not_loaded'), data: null };
    return module.approved(desk, { method, path, body: bodyOf(values) }, step);
  };
  for (;;) {
    const ways = await confirmations(desk);
    if (!ways) return null;
    // The phone approves no path with escapes; a code does for all of them.
    const usable = ways.code && path.includes('%') ? { ...ways, phone: false } : ways;
    const answer = await question({ ...asked, ...confirmedBy(usable, fields, byCode, byPhone), refusal: refusal(desk) });
    if (answer !== DEVICE_FIRST) return answer;
    if (!(await deviceReady(desk)) && !(desk.confirmations && desk.confirmations.phone)) return null;
  }
}

/** The parts of the question that depend on how the user can confirm. */
function confirmedBy({ code, phone, mayBind }, fields, byCode, byPhone) {
  if (!phone) return { fields: [...fields, codeField()], send: byCode };
  if (!code) {
    const instead = mayBind && { text: say('code_instead'), act: 'device-first', answer: DEVICE_FIRST };
    return { fields: [...fields, h('p', { class: 'hint' }, say('approve_only'))], send: byPhone, action: say('approve_phone'), instead };
  }
  const button = h('button', { class: 'button', type: 'button', 'data-act': 'approve' }, say('approve_phone'));
  const or = h('p', { class: 'other' }, h('span', {}, say('approve_or')));
  const byPhoneOrCode = async (values, step) => {
    const answer = await byPhone(values, step);
    // The phone cannot be asked: the code is what is left.
    button.hidden = or.hidden = Boolean(answer && answer.needsCode);
    return answer;
  };
  return { fields: [...fields, button, or, codeField()], send: byCode, other: { button, send: byPhoneOrCode } };
}

/** Whether the user has an authenticator that confirms changes, perhaps after setting it up. */
export const deviceReady = async (desk) => Boolean(await confirmations(desk, true));

/**
 * How the user can confirm changes, perhaps after setting up an authenticator; null where they cannot. A good answer is looked up
 * once per page. With `needsCode`, the phone is not enough.
 */
async function confirmations(desk, needsCode = false) {
  const isEnough = ({ code, phone }) => code || (phone && !needsCode);
  if (desk.confirmations && isEnough(desk.confirmations)) return desk.confirmations;
  // Pressed twice: one dialog is enough.
  if (desk.readiesDevice || document.querySelector('dialog[open]')) return null;
  desk.readiesDevice = true;
  const answer = await desk.get('/api/auth/otp-status');
  const ways = read(answer);
  const module = isEnough(ways) ? null : await import('./device-first.js').catch(() => null);
  // From here on an open dialog tells. It may be removed with its view, and then its promise never ends.
  desk.readiesDevice = false;
  desk.confirmations = answer.code === 0 ? ways : null;
  if (isEnough(ways)) return ways;
  if (!module) desk.say(say('not_loaded'), true);
  if (!module || !(await module.makeReady(desk, answer.data))) return null;
  // Where the phone confirms changes, codes may not: the service says so now that there is an authenticator.
  const now = ways.phone ? read(await desk.get('/api/auth/otp-status')) : { ...ways, code: true };
  desk.confirmations = now;
  if (!isEnough(now)) desk.say(say('code_not_accepted'), true);
  return isEnough(now) ? now : null;
}

/** How the user can confirm changes, according to the service. */
function read({ code, data }) {
  if (code !== 0) return { ...UNKNOWN };
  const mayBind = data.may_bind && !(data.bound && data.proven);
  return { code: data.confirms_changes !== false, phone: data.phone_approval === true, mayBind };
}

/** What a refused operation says; the authenticator may have been removed since it was looked up. */
const refusal = (desk) => (answer, close) => {
  const reason = answer.data && answer.data.reason;
  if (reason === 'approval_needed' || reason === 'approval_invalid') {
    return say(reason === 'approval_needed' ? 'code_not_accepted' : 'approval_invalid');
  }
  if (answer.code === CODE_WRONG || answer.code === CODE_NEEDED) return say('code_wrong');
  if (reason === 'caller_not_verified') return [answer.message, ' ', h('a', { href: '/itagent/#/caller' }, say('verify_caller'))];
  const unproven = reason === 'device_not_proven';
  if (answer.code !== NO_DEVICE && !unproven) return problems(answer);
  desk.confirmations = null;
  const look = { class: 'plain inline', type: 'button', 'data-act': 'device-first', onclick: () => close(DEVICE_FIRST) };
  return [say(unproven ? 'unproven_device' : 'no_device'), ' ', h('button', look, say(unproven ? 'prove_device' : 'set_up_device'))];
};
