// Who somebody is, and as what they act.

import { h } from './dom.js';
import { learn, say, sayOr } from './words.js';

learn({
  roles: ['You act as', '当前身份'],
  no_roles: ['You have no role at present. Ask your administrator for one.', '您目前没有角色，请联系管理员分配。'],
  signed_in_to: ['Signed in through', '登录入口'],
  source_h5: ['IT help desk', 'IT 服务台'],
  source_itagent: ['Agent workspace', '坐席工作台'],
  source_itadmin: ['Administration', '管理后台'],
  go_to: ['Go to', '前往'],
});

const CLIENTS = [['h5', '/h5/'], ['itagent', '/itagent/'], ['itadmin', '/itadmin/']];
const FOR = { itagent: ['agent', 'supervisor', 'admin'], itadmin: ['admin', 'supervisor', 'security'] };

/** Shows the pass. */
export function show(desk, place) {
  const { name, employee_id, department, roles, login_source } = desk.me;
  const shown = name || employee_id;
  place.append(h('section', { class: 'pass', id: 'account', 'aria-labelledby': 'name' },
    h('div', { class: 'stub person' },
      h('div', { class: 'monogram', 'aria-hidden': 'true' }, Array.from(shown)[0] || ''),
      h('div', {}, h('h2', { id: 'name' }, shown), h('p', { id: 'department' }, [department, employee_id].filter(Boolean).join(' · ')))),
    h('div', { class: 'face' },
      h('h3', { id: 'roles-title' }, roles.length ? say('roles') : say('no_roles')),
      roleButtons(desk),
      h('dl', {}, h('div', {}, h('dt', {}, say('signed_in_to')), h('dd', {}, sayOr(`source_${login_source}`)))),
      otherClients(desk))));
}

/** The roles somebody has, the active one pressed; another one is one press away. */
export function roleButtons(desk) {
  const { roles, current_role } = desk.me;
  const button = (role) =>
    h('li', {}, h('button', {
      'data-role': role,
      'aria-pressed': String(role === current_role),
      onclick: () => role !== desk.me.current_role && switchTo(desk, role),
    }, sayOr(role)));
  return h('ul', { class: 'roles', id: 'roles', 'aria-labelledby': 'roles-title' }, roles.map(button));
}

async function switchTo(desk, role) {
  const answer = await desk.post('/api/auth/switch-role', { role });
  if (answer.code === 0) desk.actAs(answer.data.current_role);
  else desk.say(answer.message, true);
}

/** Ways to the other clients that are open to the roles somebody has. */
function otherClients(desk) {
  const open = CLIENTS.filter(([client]) => client !== desk.client && (!FOR[client] || desk.me.roles.some((role) => FOR[client].includes(role))));
  return open.length > 0 && h('p', { class: 'elsewhere' }, `${say('go_to')} `,
    open.map(([client, path], at) => [at > 0 && ' · ', h('a', { href: path }, say(`source_${client}`))]));
}
