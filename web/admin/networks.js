// The networks of each role: allow-lists, tried before they apply.

import './admin-words.js';
import { $, fill, h } from '../lib/dom.js';
import { panel, refused } from '../components/listing.js';
import { learn, say, sayOr } from '../lib/words.js';
import { editor } from './network-list.js';
import { outcome } from './network-trial.js';

learn({
  lists: ['Allowed networks of each role', '各角色允许的网络'],
  lists_lead: [
    'One network or address per line, such as 10.0.0.0/8 or 2001:db8::1. '
      + 'A role with a list can be used only from these networks; a role with an empty list, from anywhere.',
    '每行一个网络或地址，例如 10.0.0.0/8 或 2001:db8::1。设有名单的角色只能在名单内的网络中使用；名单为空表示不限网络。',
  ],
  try_lists: ['Test these lists', '试运行'],
  discarded: ['Your changes are discarded.', '已放弃修改。'],
  try_first: ['Nothing changes until you have tested and saved the lists.', '试运行并保存之前，不会有任何更改。'],
  lists_wrong: ['Some lines are not networks. Correct them, then try again.', '部分内容不是有效的网络，请修改后重试。'],
  lists_saved: ['Saved. The lists are in effect.', '已保存，立即生效。'],
  lists_unsaved: ['Your changes to the allow-lists are not saved and will be lost.', '地址白名单的修改尚未保存，离开后将丢失。'],
  save_lists: ['Save the lists', '保存名单'],
  save_text: [
    'Changes the lists of: {roles}. They take effect immediately, also for signed-in users.',
    '将更改以下角色的名单：{roles}。立即生效，对已登录的用户同样有效。',
  ],
  save_shuts_out: ['Sessions that will stop working: {count}.', '将有 {count} 个会话无法继续使用。'],
  save_shuts_out_least: ['Sessions that will stop working: at least {count}.', '将有至少 {count} 个会话无法继续使用。'],
});

const PATH = '/api/admin/ip-rules';

/** Shows the lists. */
export function show(desk, place) {
  const body = h('div', { class: 'stack' }, h('p', { class: 'lead' }, say('reading')));
  place.append(body);
  const view = { desk, body, editors: [], saved: {} };
  desk.places.hold(say('lists_unsaved'), () => dirty(view));
  load(view);
}

async function load(view) {
  const answer = await view.desk.get(PATH);
  if (!view.body.isConnected) return;
  if (answer.code !== 0) fill(view.body, refused(answer, () => load(view)));
  else draw(view, answer.data);
}

/** The lists as currently written. */
const proposed = ({ editors }) => Object.fromEntries(editors.map((list) => [list.role, list.networks()]));

/** The roles whose lists have unsaved changes. */
const changed = ({ editors, saved }) =>
  editors.filter((list) => String(list.networks()) !== String(saved[list.role])).map(({ role }) => role);

const dirty = (view) => changed(view).length > 0;

function draw(view, lists) {
  view.saved = lists;
  view.editors = Object.keys(lists).map((role) => editor(role, lists[role], () => touched(view)));
  view.trial = h('div', { id: 'trial' });
  view.discard = h('button', { class: 'button small', id: 'discard', onclick: () => discard(view) }, say('discard'));
  view.attempt = h('button', { class: 'button small main', id: 'try', onclick: () => attempt(view) }, say('try_lists'));
  fill(view.body,
    panel(say('lists'), { id: 'lists', lead: say('lists_lead') },
      h('div', { class: 'lists' }, view.editors.map(({ element }) => element)),
      h('div', { class: 'row' }, view.attempt, view.discard)),
    view.trial);
  touched(view);
}

/** Discards the result of the dry run, which no longer matches the lists. */
function touched(view) {
  view.discard.hidden = !dirty(view);
  fill(view.trial, h('p', { class: 'hint' }, say('try_first')));
}

function discard(view) {
  draw(view, view.saved);
  view.editors[0].focus();
  view.desk.say(say('discarded'));
}

async function attempt(view) {
  const lists = proposed(view);
  view.editors.forEach((list) => list.tell(''));
  view.attempt.disabled = true;
  const [tried, now] = await Promise.all([view.desk.post(`${PATH}/dry-run`, lists), view.desk.get(PATH)]);
  view.attempt.disabled = false;
  // The lists were edited while the request was running: the response no longer matches them.
  if (!view.attempt.isConnected || JSON.stringify(lists) !== JSON.stringify(proposed(view))) return;
  if (tried.code !== 0) {
    explain(view, tried);
    return;
  }
  const elsewhere = now.code === 0 && JSON.stringify(now.data) !== JSON.stringify(view.saved);
  fill(view.trial, outcome(tried.data, {
    elsewhere, reload: () => load(view), unchanged: !dirty(view),
    save: () => save(view, lists, tried.data),
    addMe: () => view.editors.find(({ role }) => role === tried.data.you.role).add(tried.data.you.ip_address),
  }));
  $('trial-title').focus({ preventScroll: true });
  $('outcome').scrollIntoView({ block: 'nearest' });
}

/** Shows errors at their lines; other errors are shown below. */
function explain(view, answer) {
  const fields = (answer.data && answer.data.fields) || {};
  const wrong = view.editors.filter(({ role }) => fields[role]);
  wrong.forEach((list) => list.tell(String(fields[list.role])));
  fill(view.trial, h('p', { class: 'refusal', role: 'alert' }, wrong.length ? say('lists_wrong') : answer.message));
  if (wrong.length) wrong[0].focus();
}

async function save(view, lists, { roles }) {
  const count = roles.reduce((sum, { sessions }) => sum + sessions, 0);
  const named = changed(view).map(sayOr).join(say('comma'));
  const losing = roles.every(({ sessions_exact }) => sessions_exact) ? 'save_shuts_out' : 'save_shuts_out_least';
  const losses = count > 0 ? say('space') + say(losing, { count }) : '';
  const text = say('save_text', { roles: named }) + losses;
  const asked = { title: say('save_lists'), text, action: say('save_lists'), danger: count > 0 };
  const done = await view.desk.risky({ method: 'PUT', path: PATH, body: lists, ...asked });
  if (!done) return;
  // In effect, though not read again yet: leaving now loses nothing.
  view.saved = lists;
  view.desk.say(say('lists_saved'));
  await load(view);
  view.editors[0]?.focus();
}
