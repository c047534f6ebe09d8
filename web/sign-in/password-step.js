// One step of signing in by password: a title, fields, an action, and links to other steps.

import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { show } from '../lib/page.js';
import '../factors/password-words.js';
import { say } from '../lib/words.js';

const AS_IT_IS = { autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' };

/**
 * Shows a step in `way.section`. `send(values, form)` resolves to the reason of a refusal, or to nothing; `said` is the result of
 * the previous step.
 */
export function step(way, { title, lead, said, fields = [], action, send, others = [] }) {
  const refusal = h('p', { class: 'refusal', id: 'password-refusal', role: 'alert', hidden: true });
  const go = h('button', { class: 'button main', type: 'submit', id: 'password-go' }, action);
  const form = h('form', { class: 'stub', id: 'password-form' },
    h('h1', { id: 'password-title', tabindex: '-1' }, title),
    said && h('p', { class: 'warning', role: 'status' }, said),
    h('p', { class: 'lead' }, lead), fields, refusal, go, others);
  form.onsubmit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    refusal.hidden = true;
    const why = await send(Object.fromEntries(new FormData(form)), form);
    go.disabled = false;
    if (!why || !form.isConnected) return;
    fill(refusal, why);
    refusal.hidden = false;
  };
  turnTo(way, form);
  const empty = [...form.querySelectorAll('input')].find((input) => !input.value);
  if (empty) empty.focus();
}

/** Replaces the content of the section. */
export function turnTo({ section }, content) {
  fill(section, content);
  show('password');
  section.querySelector('h1').focus({ preventScroll: true });
}

/** A link to another step. */
export const other = (id, text, run) => h('button', { class: 'plain centre', id, type: 'button', onclick: run }, text);

/** The field for the employee ID. */
export const askWho = (id) =>
  field(say('password_id'), {
    name: 'employee_id', id: 'password-id', value: id, required: true, maxlength: '64', autocomplete: 'username', ...AS_IT_IS,
  });

/** The field for a password. */
export const askWord = (label, attributes, hint) =>
  field(label, { type: 'password', required: true, maxlength: '128', ...attributes }, hint);

/** The field for a code of a device or from an administrator. */
export const askForCode = (label, attributes, hint) =>
  field(label, { required: true, maxlength: '40', ...AS_IT_IS, ...attributes }, hint);
