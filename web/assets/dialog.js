// Dialogs in place: what will happen, and the fields to be filled in.

import './desk-words.js';
import { fill, h } from './dom.js';
import { say } from './words.js';

/**
 * Asks before an operation. `send(values)` runs it and returns a response of the service; while that is a refusal the dialog
 * stays and shows it. `fields` are named elements to be filled in; `review(values)` says what these would do, as `{text, danger}`.
 * Resolves to the response, or to null.
 */
export function question({ title, text, fields = [], action, danger = false, review = null, send, refusal = (answer) => answer.message }) {
  const refused = h('p', { class: 'refusal', role: 'alert', hidden: true });
  const go = h('button', { class: `button ${danger ? 'danger' : 'main'}`, type: 'submit' }, action);
  const cancel = h('button', { class: 'button', type: 'button' }, say('cancel'));
  const form = h('form', { method: 'dialog', autocomplete: 'off' },
    h('h2', { id: 'question-title' }, title),
    text && h('p', { class: 'lead', id: 'question-text' }, text),
    fields, review && consequences(review, go), refused,
    h('div', { class: 'choice' }, cancel, go));
  const dialog = h('dialog', { 'aria-labelledby': 'question-title', 'aria-describedby': text ? 'question-text' : null }, form);
  return asked({ dialog, form, go, cancel, refused, send, refusal });
}

/** What the fields would do, told as they change; the button that does something dangerous looks dangerous. */
function consequences(review, go) {
  const line = h('p', { class: 'warning', role: 'status', id: 'consequences' });
  const look = () => {
    const { text, danger } = review(Object.fromEntries(new FormData(go.form)));
    line.textContent = text;
    line.hidden = !text;
    go.className = `button ${danger ? 'danger' : 'main'}`;
  };
  queueMicrotask(() => {
    go.form.addEventListener('input', look);
    look();
  });
  return line;
}

/** Shows a dialog until it is answered. A request in progress cannot be cancelled, so until then the dialog cannot be closed. */
function asked({ dialog, form, go, cancel, refused, send, refusal }) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const close = (answer) => {
      dialog.onclose = null;
      dialog.remove();
      if (before && before.isConnected) before.focus();
      resolve(answer);
    };
    const lock = (locked) => {
      [go, cancel].forEach((button) => { button.disabled = locked; });
      dialog.toggleAttribute('data-sending', locked);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      lock(true);
      refused.hidden = true;
      const answer = await send(Object.fromEntries(new FormData(form)));
      lock(false);
      if (answer.code === 0) {
        close(answer);
        return;
      }
      // Browsers close a dialog at a second Escape, whatever the page does.
      if (!dialog.open) dialog.showModal();
      fill(refused, refusal(answer, close));
      refused.hidden = false;
      if (form.elements.code) form.elements.code.select();
    };
    cancel.onclick = () => close(null);
    dialog.addEventListener('cancel', (event) => go.disabled && event.preventDefault());
    dialog.onclose = () => go.disabled || close(null);
    document.body.append(dialog);
    dialog.showModal();
    (form.querySelector('input, select, textarea') || cancel).focus();
  });
}

/** A field with its label; attributes are those of the input, or of another given element. */
export function field(label, attributes = {}, hint = '', input = h('input', attributes)) {
  const id = attributes.id || `field-${attributes.name}`;
  input.id = id;
  if (hint) input.setAttribute('aria-describedby', `${id}-hint`);
  return h('div', { class: 'field' },
    h('label', { for: id }, label), input,
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint));
}

/** The field for a one-time password. */
export const codeField = (attributes = {}) =>
  field(say('code_label'), {
    name: 'code', required: true, inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: '7', pattern: '[0-9 ]{6,7}', ...attributes,
  }, say('code_hint'));

/** The errors, field by field where the service names them; a field on the page is called by its label. */
export function problems({ message, data }) {
  const named = ([name, why]) => {
    const label = document.querySelector(`label[for="field-${CSS.escape(name)}"], [data-field="${CSS.escape(name)}"]`);
    return label ? say('field_problem', { label: label.textContent, why }) : String(why);
  };
  const all = Object.entries((data && data.fields) || {}).map(named);
  return all.length ? all.join(' ') : message;
}

/** Asks whether to leave although changes would be lost; resolves to whether to leave. */
export async function askToLeave(text) {
  const send = async () => ({ code: 0 });
  return Boolean(await question({ title: say('leave_title'), text, action: say('leave_anyway'), danger: true, send }));
}
