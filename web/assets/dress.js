// What the inside looks like is only loaded where somebody gets that far.

import { $, h } from './dom.js';

/** Resolves once the style of the inside is there, or cannot be had. */
export function dressed() {
  if ($('inside')) return null;
  const link = h('link', { id: 'inside', rel: 'stylesheet', href: new URL('./inside.css', import.meta.url).pathname });
  const loaded = new Promise((done) => {
    link.onload = link.onerror = done;
  });
  document.head.append(link);
  return loaded;
}
