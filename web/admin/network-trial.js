// The result of a dry run of allow-lists: the people they would shut out.

import { h } from '../lib/dom.js';
import { moment, panel } from '../components/listing.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  trial: ['If you save these lists', '若保存这些名单'],
  you_stay: [
    'You are not affected: {role} can be used from your address {address}.',
    '您不受影响：您的地址是 {address}，{role}可在此使用。',
  ],
  you_out: [
    'You would lock yourself out: you are at {address}, where {role} could no longer be used. '
      + 'Add your address or its network first.',
    '保存后您自己将无法继续使用：您的地址是 {address}，{role}不能在此使用。请先加入您的地址或所在网络。',
  ],
  add_me: ['Add {address} to the list', '将 {address} 加入名单'],
  no_lockout: ['No session is affected.', '没有会话会受影响。'],
  no_lockout_found: ['None of the checked sessions is affected.', '已检查的会话均不受影响。'],
  not_all_checked: [
    'There are too many sessions to check all of them: more may be affected.',
    '会话过多，未全部检查：可能有更多会话受影响。',
  ],
  out_of: ['{role}: {count} sessions will stop working', '{role}：{count} 个会话将无法继续使用'],
  out_of_one: ['{role}: 1 session will stop working', '{role}：1 个会话将无法继续使用'],
  out_of_least: ['{role}: at least {count} sessions will stop working', '{role}：至少 {count} 个会话将无法继续使用'],
  out_hint: ['Based on the address at sign-in; users who changed networks since then may be elsewhere.', '按登录时的地址判断；之后更换过网络的用户可能不在该地址。'],
  out_more: ['and {count} more', '另有 {count} 个'],
  seen: ['last seen', '最近活动'],
  times: ['{count} sessions', '{count} 个会话'],
  nothing_changed: ['The lists are unchanged. There is nothing to save.', '与现有名单相同，无需保存。'],
  lists_elsewhere: [
    'The lists were changed since you opened this page. Saving would overwrite those changes.',
    '您打开本页后，名单已被他人修改。保存将覆盖其修改。',
  ],
  lists_reload: ['Show the current lists and discard mine', '查看最新名单并放弃我的修改'],
});

/**
 * The result of a dry run; `save` is offered where there are changes that do not shut their author out. `elsewhere` says that the
 * lists were changed elsewhere meanwhile.
 */
export function outcome({ you, roles }, { elsewhere, unchanged, reload, save, addMe }) {
  const out = roles.filter(({ sessions }) => sessions > 0);
  const complete = roles.every(({ sessions_exact }) => sessions_exact);
  const blanks = { address: you.ip_address, role: sayOr(you.role) };
  const button = (id, text, onclick) => h('button', { class: `button small ${id === 'save' ? 'main' : ''}`, id, onclick }, text);
  const result = panel(say('trial'), { id: 'outcome' },
    you.shut_out
      ? [h('p', { class: 'refusal' }, say('you_out', blanks)), button('add-me', say('add_me', blanks), addMe)]
      : h('p', {}, say('you_stay', blanks)),
    out.length
      ? [out.map(ofRole), h('p', { class: 'hint' }, say('out_hint'))]
      : h('p', {}, say(complete ? 'no_lockout' : 'no_lockout_found')),
    !complete && h('p', { class: 'warning', id: 'not-all-checked' }, say('not_all_checked')),
    elsewhere && [h('p', { class: 'warning' }, say('lists_elsewhere')), button('theirs', say('lists_reload'), reload)],
    unchanged && h('p', { class: 'lead' }, say('nothing_changed')),
    !unchanged && !you.shut_out && button('save', say('save_lists'), save));
  const title = result.querySelector('h2');
  title.id = 'trial-title';
  title.tabIndex = -1;
  return result;
}

/** Groups the sessions of one person at the same address. */
function together(shut_out) {
  const people = new Map();
  shut_out.forEach((session) => {
    const key = JSON.stringify([session.corp_id, session.employee_id, session.ip_address]);
    const known = people.get(key) || { ...session, count: 0 };
    const latest = [known.last_seen_at, session.last_seen_at].filter(Boolean).sort().pop();
    people.set(key, { ...known, last_seen_at: latest, count: known.count + 1 });
  });
  return [...people.values()];
}

function person({ name, employee_id, ip_address, last_seen_at, count }) {
  const facts = [name && employee_id, ip_address, count > 1 && say('times', { count })].filter(Boolean).join(' · ');
  return h('li', {}, name || employee_id, h('small', {}, facts, last_seen_at && [` · ${say('seen')} `, moment(last_seen_at)]));
}

function ofRole({ role, sessions, sessions_exact, shut_out }) {
  const blanks = { role: sayOr(role), count: sessions };
  const exactly = sessions === 1 ? 'out_of_one' : 'out_of';
  return h('section', { 'data-role': role, class: 'shut-out' },
    h('h3', {}, say(sessions_exact ? exactly : 'out_of_least', blanks)),
    h('ul', { class: 'names' }, together(shut_out).map(person)),
    sessions > shut_out.length && h('p', { class: 'lead' }, say('out_more', { count: sessions - shut_out.length })));
}
