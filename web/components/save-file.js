// Saves a file that the page has made.

import { h } from '../lib/dom.js';

/** By then the browser has begun to read the file. */
const BEGUN = 60000;

/** Has the browser save a file under this name. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h('a', { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), BEGUN);
}
