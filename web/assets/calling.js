// "Is IT calling me?": who of IT says right now that they are on the telephone with the user.

import { fill, h } from './dom.js';
import { panel, refused } from './listing.js';
import { watching } from './watching.js';
import { learn, say } from './words.js';

learn({
  calling_lead: [
    'A caller says that they are from IT? Ask them to send you a question, and look here or in {platform.en}: what is on this page was sent by people who are signed in here for IT.',
    '有人来电自称 IT 人员？请让对方向您发起确认，然后查看此处或{platform.zh}：此处显示的询问均由在此登录的 IT 人员发出。',
  ],
  calling_now: ['Right now', '当前'],
  calling_none: ['Nobody from IT is asking for you.', '目前没有 IT 人员向您发起确认。'],
  calling_none_next: [
    'If a caller tells you otherwise, hang up, and call the help desk under the number that you know. Tell nobody your password or a code.',
    '如果来电者另有说法，请挂断，并拨打您所知道的服务台电话。不要把密码或验证码告诉任何人。',
  ],
  calling_who: ['These people from IT say that they are on the phone with you:', '以下 IT 人员表示正在与您通话：'],
  calling_who_next: [
    'Is it one of them? Open the message in {platform.en} on your phone and pick the number that you hear. If you are not on the phone, say so there: the administrators are told.',
    '是其中之一吗？请在手机的{platform.zh}中打开消息，并选择您听到的数字。如果您没有在通话，请在那里说明，系统会通知管理员。',
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
  return [h('p', { class: 'calling' }, say('calling_who')), h('ul', { class: 'latest' }, items.map(item)), h('p', { class: 'lead' }, say('calling_who_next'))];
}
