// The navigation between views, with the number of unread messages.

import { fill, h } from './dom.js';
import { say } from './words.js';

/** Draws a link for each view, and scrolls to the current one. */
export function drawNav(nav, views, shown, unread) {
  const link = ({ id, title }) => h('a', { href: `#/${id}`, 'aria-current': id === shown.id ? 'page' : null }, title);
  fill(nav, views.map(link));
  tellUnread(nav, unread);
  const current = nav.querySelector('[aria-current]');
  if (current) nav.scrollLeft = current.offsetLeft - nav.clientWidth / 3;
}

/** Shows the number of unread messages. */
export function tellUnread(nav, count) {
  const link = nav.querySelector('[href="#/messages"]');
  if (!link) return;
  const badge = h('span', { class: 'count' }, String(count), h('span', { class: 'unseen' }, ` ${say('unread')}`));
  fill(link, say('view_messages'), count > 0 && [' ', badge]);
}
