// Loads the styles of the signed-in pages only when they are needed.

import { $, h } from '../lib/dom.js';

/** Resolves once these styles are loaded, or failed to load; the administration has one more. */
export const loadStyles = (client) => Promise.all(['inside', ...(client === 'itadmin' ? ['admin'] : [])].map(load));

// The name in 0.2.0: during an upgrade its modules may load this one, and ours that of its nodes.
export { loadStyles as dressed };

function load(name) {
  if ($(`style-${name}`)) return null;
  const href = new URL(`./${name}.css`, import.meta.url).pathname;
  const link = h('link', { id: `style-${name}`, rel: 'stylesheet', href });
  const loaded = new Promise((done) => {
    link.onload = link.onerror = done;
  });
  document.head.append(link);
  return loaded;
}
