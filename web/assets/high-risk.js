// Operations that need a one-time password: the authenticator first, then the question with its code.

import { codeField, problems, question } from './dialog.js';
import { h } from './dom.js';
import { say } from './words.js';

const [CODE_NEEDED, CODE_WRONG, NO_DEVICE] = [1007, 1008, 1009];
/** The question was closed in order to set up or confirm the authenticator; then it is asked again. */
const DEVICE_FIRST = { code: 'device-first' };

/**
 * Runs an operation that needs a one-time password: asks for it together with the other fields. `what` has `method`, `path`,
 * `body` (or a function of the fields' values), `title`, `text`, `action`, `fields`, `danger`. A user whose authenticator is
 * missing or not confirmed sets it up before any code is asked for, and then continues. Resolves to the response, or to null.
 */
export async function risky(desk, { method, path, body, fields = [], ...asked }) {
  const send = ({ code, ...values }) =>
    desk.ask(method, path, typeof body === 'function' ? body(values) : body, code.replace(/\s/g, ''));
  for (;;) {
    if (!(await deviceReady(desk))) return null;
    const answer = await question({ ...asked, fields: [...fields, codeField()], send, refusal: refusal(desk) });
    if (answer !== DEVICE_FIRST) return answer;
  }
}

/**
 * Whether the user has an authenticator that confirms changes, perhaps after setting it up. A good one is looked up once per page.
 * Where its state cannot be read, the service decides, and its refusal is shown.
 */
export async function deviceReady(desk) {
  if (desk.confirmsChanges) return true;
  // Pressed twice: one dialog is enough.
  if (desk.readiesDevice || document.querySelector('dialog[open]')) return false;
  desk.readiesDevice = true;
  const { code, data } = await desk.get('/api/auth/otp-status');
  desk.confirmsChanges = code === 0 && data.confirms_changes !== false;
  const isGood = code !== 0 || desk.confirmsChanges;
  const module = isGood ? null : await import('./device-first.js').catch(() => null);
  // From here on an open dialog tells. It may be removed with its view, and then its promise never ends.
  desk.readiesDevice = false;
  if (isGood) return true;
  if (module) desk.confirmsChanges = await module.makeReady(desk, data);
  else desk.say(say('not_loaded'), true);
  return desk.confirmsChanges;
}

/** What a refused operation says; the authenticator may have been removed since it was looked up. */
const refusal = (desk) => (answer, close) => {
  if (answer.code === CODE_WRONG || answer.code === CODE_NEEDED) return say('code_wrong');
  const unproven = answer.data && answer.data.reason === 'device_not_proven';
  if (answer.code !== NO_DEVICE && !unproven) return problems(answer);
  desk.confirmsChanges = false;
  const look = { class: 'plain inline', type: 'button', 'data-act': 'device-first', onclick: () => close(DEVICE_FIRST) };
  return [say(unproven ? 'unproven_device' : 'no_device'), ' ', h('button', look, say(unproven ? 'prove_device' : 'set_up_device'))];
};
