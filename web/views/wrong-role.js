// The view for a user whose active role this client is not for, or was revoked.

import { roleButtons } from './account.js';
import { isFor } from '../lib/clients.js';
import { h } from '../lib/dom.js';
import { tellNotSetUp } from '../lib/not-set-up.js';
import { watching } from '../components/watching.js';
import { learn, say, sayOr } from '../lib/words.js';

/** How often the page looks whether the user was given a role meanwhile. */
const EVERY = 10000;

learn({
  wrong_role: ['Your active role is {role}. {desk} requires another role.', '您的当前角色是{role}，无法使用{desk}。'],
  role_taken_away: ['Your active role was revoked. You are still signed in.', '您的当前角色已被收回，您仍处于登录状态。'],
  address_not_allowed: [
    'Your active role may not be used from this network. You are still signed in.',
    '您的当前角色不允许在此网络中使用，您仍处于登录状态。',
  ],
  switch_here: ['Switch to:', '切换为：'],
  ask_for_role: ['Ask your administrator for a suitable role, or go to the', '请联系管理员分配相应角色，或前往'],
  ask_for_any: ['If this does not help, sign in again or contact your administrator.', '如仍无法继续，请重新登录或联系管理员。'],
  sign_in_again: ['Sign in again', '重新登录'],
  help_desk: ['IT help desk', 'IT 服务台'],
});

/** Says so, and what to do about it. */
export function show(desk, place) {
  const { current_role, roles } = desk.me;
  // Any role lets a suspended user go on; else only those help that this client is for.
  const others = roles.filter((role) => role !== current_role && (desk.suspended || isFor(desk.client, role)));
  const what = desk.suspended ? say(desk.suspended) : say('wrong_role', { role: sayOr(current_role), desk: say(desk.client) });
  place.append(h('section', { class: 'panel', id: 'wrong-role', 'aria-label': say('view_wrong_role') },
    h('p', {}, what),
    others.length > 0 && [h('p', { id: 'roles-title' }, say('switch_here')), roleButtons(desk, others)],
    desk.suspended ? startAgain(desk) : elsewhere()));
  if (desk.suspended) return () => {};
  const setUp = h('div', { hidden: true });
  place.append(setUp);
  desk.get('/api/ready').then(({ data }) => {
    if (!data || data.administrators !== 'none') return;
    // There is nobody to ask.
    place.querySelectorAll('#wrong-role .lead').forEach((lead) => lead.remove());
    tellNotSetUp(setUp, desk.me.employee_id);
  });
  return watching(EVERY, () => lookForRoles(desk));
}

/** Draws the page again once the roles of the user have changed. */
async function lookForRoles(desk) {
  const { code, data } = await desk.get('/api/auth/me');
  if (code === 0 && String(data.roles) !== String(desk.me.roles)) await desk.lookAgain();
}

const elsewhere = () => h('p', { class: 'lead' }, `${say('ask_for_role')} `, h('a', { href: '/h5/' }, say('help_desk')));

/** A new sign-in gives the user their highest current role. */
const startAgain = (desk) => [
  h('p', { class: 'lead' }, say('ask_for_any')),
  h('button', { class: 'button small', id: 'sign-in-again', onclick: () => desk.signOut() }, say('sign_in_again')),
];
