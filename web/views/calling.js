// "Is IT calling me?": who of IT asks right now whether the user called them.

import { fill, h } from '../lib/dom.js';
import { panel, refused } from '../components/listing.js';
import { watching } from '../components/watching.js';
import { learn, say } from '../lib/words.js';

learn({
  calling_lead: [
    'When you call IT, the agent may ask on your phone: “Did you call IT?” This page shows who of IT asks you right now. IT never asks you this when it calls you.',
    '您致电 IT 时，坐席可能会向您的手机询问：“是您本人致电 IT 的吗？”此处显示当前向您询问的 IT 人员。IT 打电话给您时绝不会这样询问。',
  ],
  calling_now: ['Right now', '当前'],
  calling_none: ['Nobody from IT is asking for you.', '目前没有 IT 人员向您发起确认。'],
  calling_none_next: [
    'If a caller tells you otherwise, hang up, and call the help desk under the number that you know. Tell nobody your password or a code.',
    '如果打电话的人另有说法，请挂断，并拨打您所知道的服务台电话。不要把密码或验证码告诉任何人。',
  ],
  calling_who: ['Did you call IT? These people ask:', '是您本人致电 IT 的吗？以下人员正在询问：'],
  calling_who_next: [
    'If you called, open the message in {platform.en} on your phone and pick the number that you hear. After that, IT may reset your password or authenticator. If you did not call, or were called, choose “I did not call IT” there: nothing is reset, and the administrators are told.',
    '如果是您致电 IT，请在手机的{platform.zh}中打开消息，并选择您听到的数字；之后 IT 可能会重置您的密码或身份验证器。如果您没有致电 IT，或是对方打给您的，请在那里选择“我没有致电 IT”：不会重置任何内容，并会通知管理员。',
  ],
  calling_no_proof: [
    'A name here does not prove that the person who called you is that person.',
    '此处出现的姓名不能证明打电话给您的就是该人员。',
  ],
});

const EVERY_MS = 3000;

/** Shows who asks, and looks again while the page is visible. */
export function show(desk, place) {
  const now = h('div', { id: 'callers', role: 'status' }, h('p', { class: 'lead' }, say('reading')));
  let shown = '';
  const look = async () => {
    const answer = await desk.get('/api/verifications/mine');
    const found = JSON.stringify(answer.code === 0 ? answer.data.items : answer.message);
    // Screen readers need not hear again what has not changed.
    if (!now.isConnected || found === shown) return;
    shown = found;
    fill(now, answer.code === 0 ? callers(answer.data.items) : refused(answer, look));
  };
  place.append(h('p', { class: 'lead' }, say('calling_lead')), panel(say('calling_now'), {}, now));
  return watching(EVERY_MS, look);
}

function callers(items) {
  if (!items.length) return [h('p', { class: 'calling' }, say('calling_none')), h('p', { class: 'lead' }, say('calling_none_next'))];
  const item = ({ name, department }) => h('li', {}, h('div', {}, h('strong', {}, name), department && h('small', {}, department)));
  const next = [h('p', { class: 'warning' }, say('calling_no_proof')), h('p', { class: 'lead' }, say('calling_who_next'))];
  return [h('p', { class: 'calling' }, say('calling_who')), h('ul', { class: 'latest' }, items.map(item)), next];
}
