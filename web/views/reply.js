// Replies to the help desk: an option of a message, or a text of the user's own.

import { fill, h } from '../lib/dom.js';
import { learn, say } from '../lib/words.js';

learn({
  reply_label: ['Write to the help desk', '回复服务台'],
  reply_send: ['Send', '发送'],
  reply_sending: ['Sending…', '正在发送…'],
  reply_sent: ['Sent', '已发送'],
  reply_failed: ['{why}. Choose again to retry.', '{why}。请重新选择以重试。'],
  reply_unconfirmed: ['The reply was not confirmed', '回复未得到确认'],
});

const PATH = '/api/messages/reply';
const MOST_CHARACTERS = 2000;
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Whether the service passes replies on. */
export const repliesOn = document.body.dataset.replies === 'on';

/** The state of the reply to a message, in words; empty without one. */
export function replyState({ reply, why }) {
  if (reply !== 'failed') return reply ? say(`reply_${reply}`) : '';
  return say('reply_failed', { why: (why || say('reply_unconfirmed')).replace(/[.。]$/, '') });
}

/** Sends an option of a message. A message takes one choice; after a failure another one may be made. */
export async function sendOption(desk, entry, at) {
  if (entry.reply === 'sending' || entry.reply === 'sent') return;
  Object.assign(entry, { chosen: at, reply: 'sending', why: '' });
  desk.inbox.changed(entry);
  const answer = await desk.post(PATH, { message_id: entry.id, option: entry.options[at].option });
  Object.assign(entry, answer.code === 0 ? { reply: 'sent' } : { reply: 'failed', why: answer.message });
  desk.inbox.changed(entry);
}

/** A form for a text, which replies to the message that was the latest when the user began to write. */
export function replyForm(desk) {
  const { draft } = desk.inbox;
  const why = h('p', { class: 'refusal', id: 'reply-refusal', role: 'alert', hidden: true });
  const field = h('textarea', { id: 'reply-text', rows: '2', maxlength: MOST_CHARACTERS, 'aria-describedby': why.id });
  const button = h('button', { class: 'button small main', type: 'submit' });
  const form = h('form', { class: 'reply', id: 'reply' }, h('label', { for: field.id }, say('reply_label')), field, why, button);
  const draw = (text = '') => {
    field.value = draft.text;
    field.readOnly = draft.isSending;
    fill(button, say(draft.isSending ? 'reply_sending' : 'reply_send'));
    fill(why, text);
    why.hidden = !text;
  };
  // The user may leave the view and return while the text is on its way: the outcome goes to the form that is shown then.
  draft.onSent = ({ code, message }) => {
    form.dataset.state = code === 0 ? 'sent' : 'failed';
    draw(code === 0 ? '' : message);
  };
  const send = () => {
    const isSent = sendDraft(desk);
    if (!isSent) return;
    form.dataset.state = 'sending';
    draw();
  };
  field.oninput = () => begin(desk.inbox, field.value);
  form.onsubmit = (event) => {
    event.preventDefault();
    send();
  };
  field.onkeydown = (event) => {
    // Enter also ends the input of a Chinese word, and on phones it starts a new line.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || matchMedia('(pointer: coarse)').matches) return;
    event.preventDefault();
    send();
  };
  draw();
  return form;
}

function begin(inbox, text) {
  const { draft } = inbox;
  if (!draft.to || !text.trim()) draft.to = text.trim() ? inbox.latestId() : '';
  draft.text = text;
}

/** Sends the text, unless there is none or it is on its way; once it is sent, it stands among the messages. */
function sendDraft(desk) {
  const { draft } = desk.inbox;
  const text = draft.text.replace(/\t/g, ' ').replace(CONTROLS, '').trim();
  if (!text || draft.isSending) return false;
  draft.isSending = true;
  const done = (answer) => {
    draft.isSending = false;
    if (answer.code === 0) {
      Object.assign(draft, { text: '', to: '' });
      desk.inbox.addOwn(text);
    }
    draft.onSent(answer);
  };
  desk.post(PATH, { message_id: draft.to, text }).then(done);
  return true;
}
