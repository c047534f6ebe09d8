// An operation that the user approves on their own phone: asks the phone, shows the number to pick there, and then sends it.

import { h } from '../lib/dom.js';
import { bigNumber, clock, followQuestion } from './follow-question.js';
import { learn, say } from '../lib/words.js';

learn({
  approval_title: ['Approve on your phone', '请在手机上批准'],
  approve_text: [
    'Open the message in {platform.en} on your phone, check what it shows, and pick this number:',
    '请在手机上打开{platform.zh}消息，核对内容后选择以下数字：',
  ],
  approve_waiting: ['Waiting for your phone', '正在等待手机确认'],
  approve_sending: ['Approved. The change is being made…', '已批准，正在执行更改…'],
  approve_left: ['{time} left', '剩余 {time}'],
  approve_back: ['Back', '返回'],
  approval_refused: [
    'The phone refused, or picked another number. Nothing was changed.',
    '手机上已拒绝或选择了错误的数字，未做任何更改。',
  ],
  approval_expired: ['The phone did not answer in time. Nothing was changed.', '手机未在规定时间内确认，未做任何更改。'],
  approve_not_shown: [
    'A phone cannot show this change completely, so it cannot be approved there. Use a code from your authenticator.',
    '手机无法完整显示此更改，因此不能在手机上批准。请使用身份验证器的验证码。',
  ],
  approve_paused: [
    'An approval was refused on your phone, so this session can ask for no others now. Use a code from your authenticator, or try again in {minutes} min.',
    '您的手机拒绝了一次批准，本会话暂时不能再次请求。请使用身份验证器的验证码，或在 {minutes} 分钟后重试。',
  ],
  approve_off: ['Changes are no longer approved on the phone. Use a code from your authenticator.', '已不再支持在手机上批准，请使用身份验证器的验证码。'],
});

const [NOT_VALID, REFUSED] = [1002, 1003];
/** The code of an answer that is not the service's: nothing was sent. */
const NOT_APPROVED = -1;
const notSent = (message) => ({ code: NOT_APPROVED, message, data: null });

/**
 * Has the user's phone approve an operation, in a step of the dialog that asks for it, and sends it then. Resolves to the response,
 * or to null when the user goes back.
 */
export async function approved(desk, { method, path, body }, step) {
  // The phone approves exactly what is sent: the address as the browser writes it, and the text of the body.
  const { pathname, search } = new URL(path, location.origin);
  const text = body === undefined ? '' : JSON.stringify(body);
  const asked = await desk.post('/api/auth/approvals', { method, path: pathname + search, body: text });
  if (asked.code !== 0) return notAsked(asked);
  const status = await answered(desk, asked.data, step);
  if (status === 'approved') return desk.ask(method, path, body, { approval: asked.data.id });
  return status && notSent(say(status === 'refused' ? 'approval_refused' : 'approval_expired'));
}

/** Why the phone was not asked. Where only a code is left, the answer says so, and `needsCode` is set. */
function notAsked(answer) {
  const { code, data, wait } = answer;
  const [reason, fields] = [data && data.reason, (data && data.fields) || {}];
  const byCode = (message) => ({ ...notSent(message), needsCode: true });
  if (code === NOT_VALID && (fields.path || fields.body)) return byCode(say('approve_not_shown'));
  if (code === REFUSED && reason === 'approvals_paused') return byCode(say('approve_paused', { minutes: Math.max(1, Math.ceil(wait / 60)) }));
  if (code === REFUSED && reason === 'cannot_ask') return { ...answer, needsCode: true };
  return code === REFUSED && reason === 'approvals_off' ? byCode(say('approve_off')) : answer;
}

/** Shows the number until the phone has answered; resolves to its answer, or to null when the user goes back. */
function answered(desk, { id, number, expires_in }, step) {
  return new Promise((resolve) => {
    const title = h('h2', { id: 'approve-title', tabindex: '-1' }, say('approval_title'));
    const state = h('p', { class: 'waiting-for', role: 'status' }, say('approve_waiting'));
    const left = h('p', { class: 'hint time-left' });
    const trouble = h('p', { class: 'warning', role: 'status', hidden: true });
    const back = h('button', { class: 'button', type: 'button', 'data-act': 'back' }, say('approve_back'));
    const stop = followQuestion({
      until: Date.now() + expires_in * 1000,
      read: () => desk.get(`/api/auth/approvals/${encodeURIComponent(id)}`),
      isShown: () => title.isConnected,
      onTime: (seconds) => { left.textContent = say('approve_left', { time: clock(seconds) }); },
      onTrouble: (text) => {
        trouble.textContent = text;
        trouble.hidden = !text;
      },
      onAnswer: (status) => {
        if (status === 'approved') {
          state.textContent = say('approve_sending');
          back.disabled = true;
          step.sends();
        }
        resolve(status);
      },
    });
    const goBack = () => {
      stop();
      resolve(null);
    };
    back.onclick = goBack;
    const content = [title, h('p', { class: 'lead' }, say('approve_text')), bigNumber(number), state, left, trouble, back];
    step.enter('approve-title', content, goBack);
    title.focus();
  });
}
