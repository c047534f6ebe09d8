// The user's latest sign-ins and refusals, so that they notice foreign ones.

import { question } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { addressOf, deviceName, listing, moment, panel } from '../components/listing.js';
import { wordFor } from '../components/login-words.js';
import './security-words.js';
import { say } from '../lib/words.js';

const AT_ONCE = 5;

/** The panel of the user's own sign-ins; it has `reload()`. `own.status` is an agent's, once it is known. */
export function signInsPanel(desk, own) {
  const notice = h('div', { class: 'warning', id: 'disowned', tabindex: '-1', hidden: true });
  const list = listing({
    label: say('own_sign_ins'),
    columns: columns((item) => disown(desk, own, item, notice)),
    id: ({ id }) => id,
    load: aFew(desk),
  });
  const element = panel(say('own_sign_ins'), { id: 'sign-ins', lead: say('sign_ins_lead') }, notice, list);
  element.reload = list.reload;
  return element;
}

/** The service returns all of them at once; the list shows a few first. */
function aFew(desk) {
  let all = [];
  return async (after) => {
    if (!after) {
      const answer = await desk.get('/api/auth/sign-ins');
      if (answer.code !== 0) return answer;
      all = answer.data.items;
    }
    const from = after || 0;
    const next = from + AT_ONCE < all.length ? from + AT_ONCE : null;
    return { code: 0, data: { items: all.slice(from, from + AT_ONCE), next } };
  };
}

/** The result of a sign-in, not by colour alone. */
export const outcome = ({ signed_in, reason }) =>
  signed_in
    ? h('span', { class: 'tag' }, say('own_signed_in'))
    : h('span', {}, h('span', { class: 'tag bad' }, say('own_refused')), h('small', {}, wordFor('reason', reason)));

const columns = (notMe) => [
  { title: say('own_when'), cell: ({ at }) => moment(at) },
  { title: say('own_what'), cell: outcome },
  {
    title: say('own_device'),
    cell: (row) =>
      h(
        'span',
        { title: row.user_agent || null },
        deviceName(row.device),
        h('small', {}, addressOf(row) || say('unknown')),
        row.decided_address && row.decided_address !== row.ip_address && h('small', { class: 'claimed-address' }, say('claimed_as', { address: row.ip_address })),
      ),
  },
  {
    title: say('own_way'),
    cell: ({ login_method, login_source }) =>
      h(
        'span',
        {},
        login_method ? wordFor('method', login_method) : '–',
        login_source && h('small', { class: 'source' }, wordFor('source', login_source)),
      ),
  },
  {
    hidden: say('own_action'),
    class: 'acts',
    cell: (item) => {
      if (item.current) return h('span', { class: 'tag good' }, say('own_this_one'));
      if (item.disowned_at) return h('span', { class: 'tag warm', 'data-id': item.id }, say('reported'));
      return h(
        'button',
        { class: 'button small', 'data-act': 'not-me', 'data-id': item.id, onclick: () => notMe(item) },
        say('not_me'),
      );
    },
  },
];

async function disown(desk, own, row, notice) {
  const { id, at, session_id } = row;
  const time = moment(at).textContent;
  const answer = await question({
    title: say('not_me_title'),
    text: say(session_id ? 'not_me_text_ends' : 'not_me_text', { time, address: addressOf(row) || say('unknown') }),
    action: say('not_me_go'),
    danger: true,
    send: () => desk.post(`/api/auth/sign-ins/${id}/not-me`),
  });
  if (!answer) return;
  const password = own.status && own.status.has_password;
  fill(
    notice,
    h('p', {}, [answer.data.ended > 0 && 'not_me_ended', answer.data.told > 0 ? 'not_me_notified' : 'not_me_logged'].filter(Boolean).map(say).join(say('space'))),
    h(
      'p',
      {},
      password
        ? h(
            'button',
            { class: 'plain inline', type: 'button', onclick: () => document.getElementById('old-password').focus() },
            say('not_me_password'),
          )
        : say('not_me_platform'),
    ),
  );
  notice.hidden = false;
  notice.focus();
  own.changed();
}
