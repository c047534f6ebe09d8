// The navigation between views, with the number of unread messages.

import { fill, h } from '../lib/dom.js';
import { icon } from './icons.js';
import { learn, say } from '../lib/words.js';

learn({
  menu: ['Menu', '菜单'],
  group_people: ['People', '人员'],
  group_rules: ['Rules', '规则'],
  group_records: ['Records', '记录'],
  group_own: ['You', '个人'],
});

/** With more views than this a narrow screen shows a menu instead of a row of links. */
const FEW = 4;

/** Draws a link for each view, in groups; a narrow screen opens them with a button that names the current one. */
export function drawNav(nav, views, shown, unread) {
  const link = ({ id, title }) =>
    h('a', { href: `#/${id}`, 'aria-current': current(id, shown) }, icon(id), h('span', { class: 'name' }, title));
  const group = ([name, members]) => h('div', { class: 'group', role: name ? 'group' : null, 'aria-label': name && say(`group_${name}`) },
    name && h('p', { class: 'group-name', 'aria-hidden': 'true' }, say(`group_${name}`)), members.map(link));
  const listed = views.filter(({ group: name }) => name !== 'hidden');
  const menu = listed.length > FEW && menuButton(nav, shown);
  // A link closes the menu, also when the user then decides to stay.
  const closed = ({ target }) => menu && target.closest('a') && openMenu(nav, menu, false);
  fill(nav, menu, h('div', { class: 'groups', id: 'view-list', onclick: closed }, grouped(listed).map(group)));
  nav.classList.toggle('many', listed.length > FEW);
  if (menu) openMenu(nav, menu, false);
  tellUnread(nav, unread);
}

/** The page of a person belongs to the list of people. */
const current = (id, shown) => {
  if (id === shown.id) return 'page';
  return id === 'people' && shown.id === 'person' ? 'true' : null;
};

function menuButton(nav, { id, title }) {
  const button = h('button', {
    class: 'button menu', id: 'menu', 'aria-expanded': 'false', 'aria-controls': 'view-list', 'aria-label': `${say('menu')}: ${title}`,
    onclick: () => openMenu(nav, button, !nav.hasAttribute('data-open')),
  }, icon('menu'), h('span', { class: 'name' }, say('menu')), h('span', { class: 'here' }, icon(id), title));
  return button;
}

function openMenu(nav, button, isOpen) {
  nav.toggleAttribute('data-open', isOpen);
  button.setAttribute('aria-expanded', String(isOpen));
}

/** The views by their group, in order. */
function grouped(views) {
  const groups = new Map();
  views.forEach((view) => groups.set(view.group, [...(groups.get(view.group) || []), view]));
  return [...groups];
}

/** Shows the number of unread messages. */
export function tellUnread(nav, count) {
  const name = nav.querySelector('[href="#/messages"] .name');
  if (!name) return;
  const badge = h('span', { class: 'count' }, String(count), h('span', { class: 'unseen' }, ` ${say('unread')}`));
  fill(name, say('view_messages'), count > 0 && [' ', badge]);
}
