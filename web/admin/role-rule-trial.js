// The result of a dry run of role rules: who would gain and who would lose a role.

import { h } from '../lib/dom.js';
import { panel } from '../components/listing.js';
import { namedLink } from './person.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  rules_trial: ['If you save these rules', '若保存这些规则'],
  rules_gain: ['Gain a role: {count}', '获得角色：{count} 人'],
  rules_lose: ['Lose a role: {count}', '失去角色：{count} 人'],
  rules_keep: ['Keeps the role anyway: the last administrator', '仍保留角色：最后一名管理员'],
  rules_no_effect: ['No one’s roles change.', '没有人的角色会变更。'],
  rules_also: ['People who sign in for the first time get their roles then.', '首次登录的人员会在登录时获得相应角色。'],
  rules_more: ['and {count} more', '另有 {count} 人'],
  rules_unchanged: ['The rules are unchanged. There is nothing to save.', '与现有规则相同，无需保存。'],
  rules_elsewhere: [
    'The rules were changed since you opened this page. Saving would overwrite those changes.',
    '您打开本页后，规则已被他人修改。保存将覆盖其修改。',
  ],
  rules_reload: ['Show the current rules and discard mine', '查看最新规则并放弃我的修改'],
});

/** The most people that a list shows. */
const MOST = 200;

/** The result; `save` is offered where there are changes. `elsewhere` says that the rules were changed elsewhere meanwhile. */
export function outcome(desk, items, { elsewhere, unchanged, reload, save }) {
  const having = (list) => items.filter((one) => one[list].length > 0);
  const button = (id, text, onclick) => h('button', { class: `button small ${id === 'save' ? 'main' : ''}`, id, onclick }, text);
  const [gains, losses, keeps] = [having('gained'), having('lost'), items.filter(({ kept_last_admin }) => kept_last_admin)];
  const result = panel(say('rules_trial'), { id: 'outcome' },
    people(desk, gains, 'gained', say('rules_gain', { count: gains.length }), 'good'),
    people(desk, losses, 'lost', say('rules_lose', { count: losses.length }), 'bad'),
    keeps.length > 0 && group('kept', say('rules_keep'), keeps.map((one) => h('li', {}, namedLink(one, desk)))),
    !gains.length && !losses.length && h('p', {}, say('rules_no_effect')),
    h('p', { class: 'hint' }, say('rules_also')),
    elsewhere && [h('p', { class: 'warning' }, say('rules_elsewhere')), button('theirs', say('rules_reload'), reload)],
    unchanged ? h('p', { class: 'lead' }, say('rules_unchanged')) : button('save', say('rules_save'), save));
  const title = result.querySelector('h2');
  title.id = 'trial-title';
  title.tabIndex = -1;
  return result;
}

const group = (name, title, rows) => h('section', { 'data-effect': name, class: 'shut-out' }, h('h3', {}, title), h('ul', { class: 'names' }, rows));

function people(desk, items, list, title, look) {
  if (!items.length) return null;
  const row = (one) => h('li', { 'data-id': one.employee_id }, namedLink(one, desk),
    h('div', {}, one[list].map((role) => h('span', { class: `tag ${look}` }, `${list === 'lost' ? '−' : '+'} ${sayOr(role)}`))));
  const rest = items.length - MOST;
  return [group(list, title, items.slice(0, MOST).map(row)), rest > 0 && h('p', { class: 'lead' }, say('rules_more', { count: rest }))];
}
