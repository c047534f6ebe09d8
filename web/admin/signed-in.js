// The current sessions of all people.

import './admin-words.js';
import { h } from '../lib/dom.js';
import { anyChoice, filters, typed } from './filters.js';
import { deviceName, listing, moment, panel } from '../components/listing.js';
import { programsOf, wordFor } from '../components/login-words.js';
import { called, endAll, mayChange, namedLink, ROLES } from './person.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  sessions_title: ['Sessions, newest first', '会话（最新在前）'],
  began: ['Signed in', '登录时间'],
  seen_at: ['last seen', '最近活动'],
  this_session: ['this session', '当前会话'],
  end_one: ['End', '结束'],
  end_one_title: ['End this session of {name}?', '结束 {name} 的这个会话？'],
  end_one_text: ['{device} is signed out immediately. The user can sign in again.', '{device} 将立即退出登录，之后可以重新登录。'],
  ended_session: ['The session of {name} has ended.', '已结束 {name} 的该会话。'],
  no_sessions: ['No sessions match.', '没有符合条件的在线会话。'],
  acts_on: ['Actions', '操作'],
});

/** Shows sessions. */
export function show(desk, place) {
  const form = filters(desk, {
    corporations: true,
    fields: [
      typed('employee_id', say('employee_id'), { type: 'search', maxlength: '64' }),
      anyChoice('role', say('active_role'), ROLES.map((role) => [role, sayOr(role)])),
    ],
    changed: () => list.reload(true),
  });
  const load = (after) => {
    const query = form.asked();
    if (after) query.set('after', after);
    return desk.get(`/api/admin/sessions?${query}`);
  };
  const list = listing({
    label: say('view_signed_in'), load, empty: say('no_sessions'), id: ({ id }) => id,
    columns: [{ title: say('person'), cell: (session) => namedLink(session, desk) }, ...sessionColumns(desk, () => list.reload())],
  });
  const again = h('button', { class: 'button small', 'data-act': 'reload', onclick: () => list.reload() }, say('refresh'));
  place.append(panel(say('sessions_title'), { id: 'sessions', aside: again }, form, list));
}

/** The columns of sessions, without their person. */
export function sessionColumns(desk, reload) {
  const all = [
    { title: say('device'), cell: ({ device, ip_address, clients }) => h('div', {},
      deviceName(device), ip_address && h('small', {}, ip_address), programsOf({ clients })) },
    { title: say('active_role'), cell: ({ current_role, current }) => h('div', {},
      h('span', { class: 'tag' }, sayOr(current_role)), current && h('span', { class: 'tag good' }, say('this_session'))) },
    { title: say('how'), cell: ({ login_method, login_source }) => h('div', {},
      wordFor('method', login_method), h('small', {}, wordFor('source', login_source))) },
    { title: say('began'), class: 'when', cell: ({ created_at, last_seen_at }) => h('div', {},
      moment(created_at), h('small', {}, `${say('seen_at')} `, moment(last_seen_at))) },
  ];
  if (mayChange(desk)) all.push({ hidden: say('acts_on'), class: 'acts', cell: (session) => acts(desk, session, reload) });
  return all;
}

function acts(desk, session, reload) {
  const button = (act, text, run) => h('button', {
    class: 'button small', 'data-act': act, 'aria-label': `${text}: ${called(session)}`,
    onclick: async () => (await run()) && reload(),
  }, text);
  return [
    !session.current && button('end', say('end_one'), () => endOne(desk, session)),
    button('end-all', say('end_all_short'), () => endAll(desk, session)),
  ];
}

async function endOne(desk, session) {
  const name = called(session);
  const answer = await desk.risky({
    method: 'DELETE', path: `/api/admin/sessions/${encodeURIComponent(session.id)}`,
    title: say('end_one_title', { name }), text: say('end_one_text', { device: deviceName(session.device) }),
    action: say('end_one'), danger: true,
  });
  if (answer) desk.say(say('ended_session', { name }));
  return Boolean(answer);
}
