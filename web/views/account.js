// The identity and the roles of the user.

import { CLIENTS, isFor, pathOf } from '../lib/clients.js';
import { h } from '../lib/dom.js';
import { addressOf, deviceName, moment, panel } from '../components/listing.js';
import { wordFor } from '../components/login-words.js';
import { outcome } from './sign-ins.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  roles: ['Active role', '当前角色'],
  roles_switch: ['Select another role to switch to it.', '点击其他角色即可切换。'],
  no_roles: ['You have no role. Ask your administrator for one.', '您目前没有角色，请联系管理员分配。'],
  signed_in_to: ['Signed in to', '登录入口'],
  go_to: ['Go to', '前往'],
  latest: ['Your latest sign-ins', '您最近的登录'],
  latest_all: ['All sign-ins and sessions', '查看全部登录和会话'],
  latest_lead: ['If one of these was not you, report it under “Security”.', '如有并非您本人的登录，请在“安全”中报告。'],
});

const FEW = 3;

/** Shows the pass, and beside it the latest sign-ins of the user. */
export function show(desk, place) {
  const { name, employee_id, department, roles, login_source } = desk.me;
  const shown = name || employee_id;
  const pass = h(
    'section',
    { class: 'pass', id: 'account', 'aria-labelledby': 'name' },
    h(
      'div',
      { class: 'stub person' },
      h('div', { class: 'monogram', 'aria-hidden': 'true' }, Array.from(shown)[0] || ''),
      h(
        'div',
        {},
        h('h2', { id: 'name' }, shown),
        h('p', { id: 'department' }, [department, employee_id].filter(Boolean).join(' · ')),
      ),
    ),
    h(
      'div',
      { class: 'face' },
      h(
        'div',
        {},
        h('h3', { id: 'roles-title' }, roles.length ? say('roles') : say('no_roles')),
        roleButtons(desk),
        roles.length > 1 && h('p', { class: 'hint' }, say('roles_switch')),
      ),
      h('dl', {}, h('div', {}, h('dt', {}, say('signed_in_to')), h('dd', {}, wordFor('source', login_source)))),
      otherClients(desk),
    ),
  );
  const side = h('div', { class: 'side' });
  place.append(h('div', { class: 'passes' }, pass, side));
  showLatest(desk, side);
}

/** The roles of the user, the active one pressed; a press on another one switches to it. */
export function roleButtons(desk, roles = desk.me.roles) {
  const { current_role } = desk.me;
  const button = (role) =>
    h(
      'li',
      {},
      h(
        'button',
        {
          'data-role': role,
          'aria-pressed': String(role === current_role),
          onclick: () => role !== desk.me.current_role && desk.choose(role),
        },
        sayOr(role),
      ),
    );
  return h('ul', { class: 'roles', id: 'roles', 'aria-labelledby': 'roles-title' }, roles.map(button));
}

/** Links to the other clients that are open to the user's roles. */
function otherClients(desk) {
  const may = (client) => client !== desk.client && desk.me.roles.some((role) => isFor(client, role));
  const open = CLIENTS.filter(may);
  return (
    open.length > 0 &&
    h(
      'p',
      { class: 'elsewhere' },
      `${say('go_to')} `,
      open.map((client, at) => [at > 0 && ' · ', h('a', { href: pathOf(client) }, say(`source_${client}`))]),
    )
  );
}

/** Shows the latest sign-ins only where there are any; another view has all of them. */
async function showLatest(desk, side) {
  const { code, data } = await desk.get('/api/auth/sign-ins');
  if (code !== 0 || !data.items.length || !side.isConnected) return;
  const item = (one) =>
    h(
      'li',
      {},
      h('div', {}, moment(one.at), h('small', {}, [one.device && deviceName(one.device), addressOf(one)].filter(Boolean).join(' · '))),
      one.current ? h('span', { class: 'tag good' }, say('own_this_one')) : outcome(one),
    );
  side.append(
    panel(
      say('latest'),
      { id: 'latest', lead: say('latest_lead') },
      h('ol', { class: 'latest' }, data.items.slice(0, FEW).map(item)),
      h('p', {}, h('a', { href: '#/security' }, say('latest_all'))),
    ),
  );
}
