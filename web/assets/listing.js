// Lists that the desk hands out a page at a time.

import { problems } from './dialog.js';
import { fill, h } from './dom.js';
import { language, say } from './words.js';

/**
 * A table that fills itself. `columns` are `{title, cell(item), class?}`; `load(after)` resolves to an answer of the desk with
 * `items` and perhaps `next`. On a narrow screen each row is a card, and every cell says what it is.
 * Returns the element, which has `reload()`.
 */
export function listing({ label, columns, load, empty = say('nothing') }) {
  const body = h('tbody', { role: 'rowgroup' });
  const head = h('tr', { role: 'row' }, columns.map((column) =>
    h('th', { role: 'columnheader', scope: 'col', class: column.class }, column.title || h('span', { class: 'unseen' }, column.hidden))));
  const table = h('table', { role: 'table', 'aria-label': label }, h('thead', { role: 'rowgroup' }, head), body);
  const foot = h('div', { class: 'foot', 'aria-live': 'polite' });
  const element = h('div', { class: 'listing' }, table, foot);
  const run = { at: 0 };

  const row = (item) => h('tr', { role: 'row' }, columns.map((column) =>
    h('td', { role: 'cell', class: column.class, 'data-label': column.title || null }, column.cell(item))));

  const more = async (after) => {
    const mine = (run.at += 1);
    fill(foot, h('p', { class: 'lead' }, say('reading')));
    const answer = await load(after);
    // Somebody asked for something else meanwhile.
    if (mine !== run.at) return;
    if (answer.code !== 0) {
      fill(foot, refused(answer, () => more(after)));
      return;
    }
    if (!after) fill(body);
    const rows = answer.data.items.map(row);
    body.append(...rows);
    table.hidden = !body.children.length;
    const { next } = answer.data;
    if (next) {
      fill(foot, h('button', { class: 'button small', onclick: () => more(next) }, say('more')));
      // The press that brought them goes on at the first of them.
      if (after && rows.length) rows[0].querySelector('a, button')?.focus();
    } else fill(foot, !body.children.length && h('p', { class: 'lead empty' }, empty));
  };

  element.reload = () => more(null);
  table.hidden = true;
  more(null);
  return element;
}

/** Why something could not be read, and a way to try again. */
export const refused = (answer, again) =>
  [h('p', { class: 'refusal', role: 'alert' }, problems(answer)), h('button', { class: 'button small', onclick: again }, say('again'))];

/** A moment as people write it, with its day unless that is today. */
export function moment(iso) {
  if (!iso) return '–';
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  const day = today ? {} : { year: 'numeric', month: 'short', day: 'numeric' };
  const text = at.toLocaleString(language, { ...day, hour: '2-digit', minute: '2-digit' });
  return h('time', { datetime: iso, title: at.toLocaleString(language) }, text);
}

/** A panel with a title, and perhaps a button beside it. */
export const panel = (title, { id, aside, lead } = {}, ...children) =>
  h('section', { class: 'panel', id, 'aria-label': title },
    h('div', { class: 'panel-head' }, h('h2', {}, title), aside),
    lead && h('p', { class: 'lead' }, lead), children);

/** Puts a text on the clipboard, and says so. */
export async function copy(desk, text) {
  try {
    await navigator.clipboard.writeText(text);
    desk.say(say('copied'));
  } catch (_) {
    desk.say(say('copy_failed'), true);
  }
}
