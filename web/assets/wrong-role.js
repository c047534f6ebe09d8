// Somebody is signed in, and acts in a role that this client is not for.

import { roleButtons } from './account.js';
import { h } from './dom.js';
import { learn, say, sayOr } from './words.js';

learn({
  wrong_role: ['You act as {role}, and {desk} is for other roles.', '您当前的身份是{role}，无法使用{desk}。'],
  switch_here: ['Switch to one of yours:', '请切换身份：'],
  ask_for_role: ['Ask your administrator for a role that may be here, or go to the', '请联系管理员分配相应角色，或前往'],
  help_desk: ['IT help desk', 'IT 服务台'],
});

/** Says so, and what to do about it. */
export function show(desk, place) {
  const { current_role, roles } = desk.me;
  const others = roles.filter((role) => role !== current_role);
  place.append(h('section', { class: 'panel' },
    h('p', {}, say('wrong_role', { role: sayOr(current_role), desk: say(desk.client) })),
    others.length > 0 && [h('p', { id: 'roles-title' }, say('switch_here')), roleButtons(desk)],
    h('p', { class: 'lead' }, `${say('ask_for_role')} `, h('a', { href: '/h5/' }, say('help_desk')))));
}

