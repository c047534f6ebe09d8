// Dialogs in place: what will happen, and the fields to be filled in.

import './desk-words.js';
import { fill, h } from '../lib/dom.js';
import { say } from '../lib/words.js';

/**
 * Asks before an operation. `send(values, step)` runs it and returns a response of the service; while that is a refusal the dialog
 * stays and shows it. `fields` are named elements to be filled in; `review(values)` says what these would do, as `{text, danger}`.
 * `other` is `{button, send}`: a button among the fields that runs the operation in another way, for which no code is needed;
 * `instead` is `{text, act, answer}`: a button that closes the dialog with this answer.
 * Resolves to the response, or to null.
 */
export function question({
  title, text, fields = [], action, danger = false, review = null, send, other = null, instead = null,
  refusal = (answer) => answer.message,
}) {
  const refused = h('p', { class: 'refusal', role: 'alert', hidden: true });
  const go = h('button', { class: `button ${danger ? 'danger' : 'main'}`, type: 'submit' }, action);
  const cancel = h('button', { class: 'button', type: 'button' }, say('cancel'));
  const leave = instead && h('button', { class: 'plain', type: 'button', 'data-act': instead.act }, instead.text);
  const form = h('form', { method: 'dialog', autocomplete: 'off' },
    h('h2', { id: 'question-title' }, title),
    text && h('p', { class: 'lead', id: 'question-text' }, text),
    fields, leave, review && consequences(review, go), refused,
    h('div', { class: 'choice' }, cancel, go));
  const dialog = h('dialog', { 'aria-labelledby': 'question-title', 'aria-describedby': text ? 'question-text' : null }, form);
  return asked({ dialog, form, go, cancel, refused, send, other, refusal, leaving: instead && [leave, instead.answer] });
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
function asked({ dialog, form, go, cancel, refused, send, other, refusal, leaving }) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const step = new Step(dialog, form);
    const close = (answer) => {
      dialog.onclose = null;
      dialog.remove();
      if (before && before.isConnected) before.focus();
      resolve(answer);
    };
    const lock = (locked) => {
      [go, cancel, other && other.button, leaving && leaving[0]].forEach((button) => { if (button) button.disabled = locked; });
      dialog.toggleAttribute('data-sending', locked);
    };
    const run = async (button, work) => {
      if (go.disabled) return;
      lock(true);
      refused.hidden = true;
      const answer = await work(Object.fromEntries(new FormData(form)), step);
      lock(false);
      step.leave();
      if (answer && answer.code === 0) {
        close(answer);
        return;
      }
      // Browsers close a dialog at a second Escape, whatever the page does.
      if (!dialog.open) dialog.showModal();
      fill(refused, answer && refusal(answer, close));
      refused.hidden = !answer;
      if (answer && form.elements.code) form.elements.code.select();
      else button.focus();
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      run(go, send);
    };
    if (other) other.button.onclick = () => isFilledIn(form) && run(other.button, other.send);
    cancel.onclick = () => close(null);
    if (leaving) leaving[0].onclick = () => close(leaving[1]);
    dialog.addEventListener('cancel', (event) => {
      if (go.disabled) event.preventDefault();
      step.back();
    });
    dialog.onclose = () => (go.disabled ? step.back() : close(null));
    document.body.append(dialog);
    dialog.showModal();
    (form.querySelector('input, select, textarea') || cancel).focus();
  });
}

/** Whether everything but the code is filled in; the browser says what is not. */
function isFilledIn(form) {
  const { code } = form.elements;
  if (code) code.disabled = true;
  const isValid = form.reportValidity();
  if (code) code.disabled = false;
  return isValid;
}

/** A step of a dialog that takes the place of its form for a while. The form keeps what was entered. */
class Step {
  constructor(dialog, form) {
    Object.assign(this, { dialog, form, place: h('div', { class: 'inside' }), onBack: () => {} });
  }

  /** Shows the step; the element with `titleId` names it. `onBack` is called when the user presses Escape. */
  enter(titleId, content, onBack) {
    this.names = ['aria-labelledby', 'aria-describedby'].map((name) => [name, this.dialog.getAttribute(name)]);
    this.dialog.setAttribute('aria-labelledby', titleId);
    this.dialog.removeAttribute('aria-describedby');
    // Nothing is being sent: like a form, the step may be removed with its view.
    this.dialog.removeAttribute('data-sending');
    this.onBack = onBack;
    this.form.hidden = true;
    this.dialog.append(fill(this.place, content));
  }

  /** From here on the operation is being sent. */
  sends() {
    this.onBack = () => {};
    this.dialog.setAttribute('data-sending', '');
  }

  back() {
    this.onBack();
  }

  /** Shows the form again. */
  leave() {
    if (!this.names) return;
    this.names.forEach(([name, value]) => value && this.dialog.setAttribute(name, value));
    this.names = null;
    this.onBack = () => {};
    this.place.remove();
    this.form.hidden = false;
  }
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
