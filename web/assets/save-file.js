// Hands a file over that the page has made.

import { h } from './dom.js';

/** Until then the browser has begun to read it. */
const BEGUN = 60000;

/** Has the browser save it under this name. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h('a', { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), BEGUN);
}
