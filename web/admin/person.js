// An employee in a list, and an administrator's actions on them.

import './admin-words.js';
import { h } from '../lib/dom.js';
import { pathPart } from './paths.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  change_roles: ['Change roles', '修改角色'],
  their_log: ['Audit log', '审计日志'],
  their_page: ['Details', '详情'],
  roles_title: ['Roles of {name}', '{name} 的角色'],
  roles_text: [
    'The selected roles replace the current ones immediately, also in existing sessions. A session whose active role is removed must switch.',
    '保存后仅保留勾选的角色，对已登录的会话立即生效；当前角色被取消的会话需要切换角色。',
  ],
  role_default: ['(default)', '（默认角色）'],
  roles_legend: ['Roles', '角色'],
  roles_save: ['Save the roles', '保存角色'],
  roles_gives: ['Gives: {roles}.', '将授予：{roles}。'],
  roles_ends: ['Replaces the default role and ends their sessions.', '将取代默认角色，并结束其会话。'],
  roles_takes: ['Removes: {roles}.', '将收回：{roles}。'],
  roles_saved: ['{name} has these roles now: {roles}.', '已保存，{name} 的角色：{roles}。'],
  disable: ['Disable', '停用'],
  disable_title: ['Disable {name}?', '停用 {name}？'],
  disable_text: [
    'All their sessions end immediately, and they cannot sign in until they are enabled again. Their roles are kept.',
    '其所有会话会立即结束，重新启用前无法登录。角色会保留。',
  ],
  disabled_now: ['{name} is disabled and signed out everywhere.', '{name} 已停用，并已在所有设备上退出。'],
  enable: ['Enable', '启用'],
  enable_title: ['Enable {name}?', '启用 {name}？'],
  enable_text: ['They can sign in again, with the roles they had.', '该人员可以重新登录，并保留原有角色。'],
  enabled_now: ['{name} can sign in again.', '{name} 可以重新登录了。'],
  confirm_holder: ['Confirm the person', '确认身份'],
  confirm_holder_title: ['Confirm {name}?', '确认 {name}？'],
  confirm_holder_text: [
    'It is {now} now, and was {former}. Ask them in person first. All roles, the password and the authenticator of this employee ID count again, for this person.',
    '现为 {now}，此前为 {former}。请先当面核实。确认后，该账号原有的角色、密码和身份验证器将对此人重新生效。',
  ],
  holder_confirmed: ['{name} is confirmed.', '已确认 {name}。'],
  holder_unconfirmed: ['to be confirmed', '待确认'],
  end_all_short: ['End all', '全部结束'],
  end_all: ['End all sessions', '结束所有会话'],
  end_everywhere_title: ['End all sessions of {name}?', '结束 {name} 的所有会话？'],
  end_everywhere_text: ['They are signed out everywhere immediately, and can sign in again.', '该人员将立即在所有设备上退出登录，之后可以重新登录。'],
  end_all_own: ['These are your own sessions: you will be signed out of this page too.', '这些是您自己的会话，本页面也会退出登录。'],
  ended_all: ['Ended sessions of {name}: {n}.', '已结束 {name} 的 {n} 个会话。'],
});

/** All roles. */
export const ROLES = ['admin', 'supervisor', 'agent', 'security', 'user'];

/** The name for places where the identity matters: names are not unique, and must not reverse the text around them. */
export const called = ({ name, employee_id }) => (name ? `\u2068${name}\u2069 (${employee_id})` : employee_id);

/** A name with the identifier below it. */
export const named = ({ name, employee_id }) =>
  h('div', {}, h('strong', { dir: 'auto' }, name || employee_id), name && h('small', {}, employee_id));

/** The same as a link to the page of that person. */
export const namedLink = (person, desk) => h('a', { class: 'to-person', href: aboutPerson('person', person, desk) }, named(person));

/** Roles as tags. */
const roleTags = (roles) => roles.map((role) => h('span', { class: 'tag' }, sayOr(role)));

/** The assigned roles, or the role that a person without any has when they sign in. */
export function heldRoles({ roles, default_role }) {
  if (roles.length) return roleTags(roles);
  return default_role ? [roleTags([default_role]), ` ${say('role_default')}`] : h('span', { class: 'tag' }, say('no_role'));
}

/** A tag with the reason why the platform does not admit a person; nothing where it does. */
export function leftTag({ left }) {
  const key = `left_${left}`;
  return left && h('span', { class: 'tag bad left' }, sayOr(key) === key ? left : say(key));
}

/** A tag where the employee ID seems to be another person's now. */
export const unconfirmedTag = ({ unconfirmed }) =>
  unconfirmed && h('span', { class: 'tag bad', 'data-tag': 'unconfirmed' }, say('holder_unconfirmed'));

/** Whether the user may change anything here. */
export const mayChange = (desk) => desk.me.current_role === 'admin';

/** A link to a person, or to that person in another view. */
export function aboutPerson(view, { corp_id, employee_id }, desk) {
  const asked = new URLSearchParams({ employee_id });
  if (corp_id && corp_id !== desk.me.corp_id) asked.set('corp_id', corp_id);
  return `#/${view}?${asked}`;
}

/** The path of an employee in the API. */
export const path = ({ corp_id, employee_id }) => `/api/admin/employees/${[corp_id, employee_id].map(pathPart).join('/')}`;

/** Asks for the new roles of an employee; returns whether they were changed. */
export async function changeRoles(desk, person) {
  const { corp_id, employee_id, roles } = person;
  const box = (role) => h('input', { type: 'checkbox', name: `role_${role}`, checked: roles.includes(role) });
  const check = (role) => h('label', { class: 'check' }, box(role), sayOr(role));
  const answer = await desk.risky({
    method: 'PUT',
    path: '/api/admin/roles/user-roles',
    body: (values) => ({ corp_id, employee_id, roles: ROLES.filter((role) => values[`role_${role}`]) }),
    title: say('roles_title', { name: called(person) }),
    text: say('roles_text'),
    review: (values) => roleChange(roles, ROLES.filter((role) => values[`role_${role}`])),
    fields: [h('fieldset', {}, h('legend', {}, say('roles_legend')), ROLES.map(check))],
    action: say('roles_save'),
  });
  if (!answer) return false;
  const held = answer.data.roles.map(sayOr).join(say('comma')) || say('no_role');
  desk.say(say('roles_saved', { name: called(person), roles: held }));
  return true;
}

/** What a change of roles gives and takes. Giving administration, and taking anything, is dangerous. */
function roleChange(before, after) {
  const given = after.filter((role) => !before.includes(role));
  const taken = before.filter((role) => !after.includes(role));
  const part = (word, roles) => roles.length > 0 && say(word, { roles: roles.map(sayOr).join(say('comma')) });
  return {
    // A role that only applied by default ends with the first assigned one, and so do its sessions.
    text: [part('roles_gives', given), part('roles_takes', taken), !before.length && after.length > 0 && say('roles_ends')]
      .filter(Boolean).join(say('space')),
    danger: given.includes('admin') || taken.length > 0,
  };
}

/** Disables or enables an employee; returns whether that was done. */
export async function setDisabled(desk, person, disabled) {
  const word = disabled ? 'disable' : 'enable';
  const name = called(person);
  const answer = await desk.risky({
    method: 'PATCH', path: path(person), body: { disabled },
    title: say(`${word}_title`, { name }), text: say(`${word}_text`), action: say(word), danger: disabled,
  });
  if (answer) desk.say(say(`${word}d_now`, { name }));
  return Boolean(answer);
}

/** The names that the platform has for an employee ID. They are not unique, and must not reverse the text around them. */
export const holderNames = ({ former_name, name }) => ({ former: `\u2068${former_name || '?'}\u2069`, now: `\u2068${name || '?'}\u2069` });

/** Confirms the person who has an employee ID now, as the question shows them; returns whether that was done. */
export async function confirmHolder(desk, person) {
  const name = called(person);
  let holder = person.unconfirmed_holder;
  if (!holder) {
    // Lists do not say who it is.
    const shown = await desk.get(path(person));
    if (shown.code !== 0) {
      desk.say(shown.message, true);
      return false;
    }
    holder = shown.data.unconfirmed_holder;
  }
  // Confirmed meanwhile.
  if (!holder) return true;
  const answer = await desk.risky({
    method: 'POST', path: `${path(person)}/confirm`, body: { digest: holder.digest },
    title: say('confirm_holder_title', { name }), text: say('confirm_holder_text', holderNames(holder)),
    action: say('confirm_holder'), danger: true,
  });
  if (answer) desk.say(say('holder_confirmed', { name }));
  return Boolean(answer);
}

/** Signs an employee out everywhere; returns whether that was done. */
export async function endAll(desk, person) {
  const name = called(person);
  const own = person.corp_id === desk.me.corp_id && person.employee_id === desk.me.employee_id;
  const answer = await desk.risky({
    method: 'DELETE', path: `${path(person)}/sessions`,
    title: say('end_everywhere_title', { name }), text: say(own ? 'end_all_own' : 'end_everywhere_text'),
    action: say('end_all'), danger: true,
  });
  if (answer) desk.say(say('ended_all', { name, n: answer.data.ended }));
  return Boolean(answer);
}

/** The actions on an employee; `reload` is called after a change. */
export function personActs(desk, person, reload, links = true) {
  const button = (act, text, run) =>
    h('button', { class: 'button small', 'data-act': act, onclick: async () => (await run()) && reload() }, text);
  const { disabled, unconfirmed } = person;
  return h('div', { class: 'row' },
    mayChange(desk) && [
      unconfirmed && button('confirm', say('confirm_holder'), () => confirmHolder(desk, person)),
      button('roles', say('change_roles'), () => changeRoles(desk, person)),
      button('end-all', say('end_all'), () => endAll(desk, person)),
      button(disabled ? 'enable' : 'disable', say(disabled ? 'enable' : 'disable'), () => setDisabled(desk, person, !disabled)),
    ],
    links && [
      h('a', { class: 'link', href: aboutPerson('person', person, desk) }, say('their_page')),
      h('a', { class: 'link', href: aboutPerson('log', person, desk) }, say('their_log')),
    ]);
}
