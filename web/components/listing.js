// Lists that the service returns page by page.

import { problems } from './dialog.js';
import { fill, h } from '../lib/dom.js';
import { language, say, sayOr } from '../lib/words.js';

const UNREACHED = -1;

/**
 * A table that loads its rows. `columns` are `{title, cell(item), class?}`; `load(after)` resolves to a response of the service
 * with `items` and perhaps `next`. On a narrow screen each row is a card with labelled cells.
 * `id(item)` names a row, so that it is found again after `reload()`; `detail` is `{label, of(item), content(item)}`, shown below
 * a row after a press; `onPage(data)` receives each loaded page.
 * Returns the element, which has `reload()`.
 */
export function listing(given) {
  const list = new Listing(given);
  list.element.reload = (anew) => list.reload(anew);
  list.more(null);
  return list.element;
}

class Listing {
  constructor({ label, columns, load, empty = say('nothing'), id = () => null, detail = null, onPage = () => {} }) {
    Object.assign(this, { columns, load, empty, id, detail, onPage, at: 0, pages: 0, open: new Set() });
    if (detail) this.columns = [...columns, { hidden: detail.label, class: 'acts', cell: (item) => this.opener(item) }];
    this.body = h('tbody', { role: 'rowgroup' });
    const title = (column) => column.title || h('span', { class: 'unseen' }, column.hidden);
    const head = h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, this.columns.map((column) =>
      h('th', { role: 'columnheader', scope: 'col', class: column.class }, title(column)))));
    this.table = h('table', { role: 'table', 'aria-label': label, hidden: true }, head, this.body);
    this.foot = h('div', { class: 'foot', 'aria-live': 'polite' });
    this.element = h('div', { class: 'listing', tabindex: '-1' }, this.table, this.foot);
  }

  /** Reloads as many pages as were shown; or only the first one, for another query. */
  reload(anew = false) {
    return this.more(null, anew ? 1 : Math.max(1, this.pages));
  }

  /** Reads pages until as many as wanted are loaded, and further until there is something to show. */
  async more(after, wanted = 1) {
    const mine = (this.at += 1);
    fill(this.foot, h('p', { class: 'lead' }, say('reading')));
    const found = [];
    let [next, pages] = [after, 0];
    do {
      const answer = await this.load(next);
      // Another query was started meanwhile, or another view is shown.
      if (mine !== this.at || !this.element.isConnected) return;
      if (answer.code !== 0) {
        fill(this.foot, refused(answer, () => this.more(after, wanted)));
        return;
      }
      this.onPage(answer.data);
      found.push(...answer.data.items);
      [next, pages] = [answer.data.next, pages + 1];
    } while (next && (pages < wanted || !found.length));
    this.pages = after ? this.pages + pages : pages;
    this.show(found, after, next);
  }

  show(found, after, next) {
    const kept = after ? null : this.focused();
    const rows = found.flatMap((item) => this.rows(item));
    if (after) this.body.append(...rows);
    else fill(this.body, rows);
    this.table.hidden = !this.body.children.length;
    const more = () => h('button', { class: 'button small', 'data-act': 'more', onclick: () => this.more(next) }, say('more'));
    if (next) fill(this.foot, more());
    else fill(this.foot, this.table.hidden && h('p', { class: 'lead empty' }, this.empty));
    // The focus moves to the first of the new rows.
    if (after && rows.length) rows[0].querySelector('a, button')?.focus();
    if (kept) this.refocus(kept);
  }

  rows(item) {
    const cells = this.columns.map((column) =>
      h('td', { role: 'cell', class: column.class, 'data-label': column.title || null }, column.cell(item)));
    const row = h('tr', { role: 'row', 'data-id': this.id(item) }, cells);
    return this.open.has(this.id(item)) ? [row, this.below(item)] : [row];
  }

  below(item) {
    const cell = h('td', { role: 'cell', colspan: this.columns.length }, this.detail.content(item));
    return h('tr', { role: 'row', class: 'below', 'data-id': this.id(item) }, cell);
  }

  opener(item) {
    const { label, of } = this.detail;
    const id = this.id(item);
    const button = h('button', {
      class: 'plain opener', 'data-act': 'open',
      'aria-expanded': String(this.open.has(id)), 'aria-label': `${label}: ${of(item)}`,
      onclick: () => {
        const row = button.closest('tr');
        if (this.open.delete(id)) row.nextElementSibling.remove();
        else {
          this.open.add(id);
          row.after(this.below(item));
        }
        button.setAttribute('aria-expanded', String(this.open.has(id)));
      },
    }, label);
    return button;
  }

  /** Where the focus is: reloading rows must not lose it. */
  focused() {
    const on = document.activeElement;
    const row = on && on.closest('tr');
    if (!row || !this.body.contains(row)) return null;
    return { id: row.dataset.id, act: on.dataset.act, at: [...this.body.children].indexOf(row) };
  }

  refocus({ id, act, at }) {
    const rows = [...this.body.children];
    const same = rows.filter((row) => row.dataset.id === id);
    const within = (some, css = 'button, a') => some.map((row) => row.querySelector(css)).find(Boolean);
    const sameRow = within(same, `[data-act="${act}"]`) || within(same.reverse());
    (sameRow || within(rows.slice(at)) || within(rows.reverse()) || this.element).focus();
  }
}

/** An error with a button to retry; the retry starts by itself once the network is back. */
export function refused(answer, again) {
  const button = h('button', { class: 'button small', onclick: again }, say('again'));
  const back = () => button.isConnected && again();
  if (answer.code === UNREACHED) window.addEventListener('online', back, { once: true });
  return [h('p', { class: 'refusal', role: 'alert' }, problems(answer)), button];
}

/** The name of a device, translated. */
export function deviceName(device) {
  const [name, system] = (device || '').split(' on ');
  const key = `program_${name}`;
  const browser = sayOr(key) === key ? name : say(key);
  // No space between two Chinese words.
  if (system) return say('browser_on', { browser, system }).replace(/(\p{Script=Han}) (?=\p{Script=Han})/u, '$1');
  return browser || say('unknown');
}

/** The address of a request: the one that limits and allow-lists used, where it is known, since the other can be forged. */
export const addressOf = ({ decided_address, ip_address }) => decided_address || ip_address;

/** A time in the format of the language, with its day unless that is today. */
export function moment(iso) {
  if (!iso) return '–';
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  const day = today ? {} : { year: 'numeric', month: 'short', day: 'numeric' };
  const text = at.toLocaleString(language, { ...day, hour: '2-digit', minute: '2-digit' });
  return h('time', { datetime: iso, title: at.toLocaleString(language) }, text);
}

/** A time with its day and its seconds, for entries that are compared with other logs. */
export function exactMoment(iso) {
  const at = new Date(iso);
  const day = { year: 'numeric', month: 'short', day: 'numeric' };
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false };
  return h('time', { datetime: iso, title: iso },
    h('span', {}, at.toLocaleTimeString(language, time)), h('small', {}, at.toLocaleDateString(language, day)));
}

/** A panel with a title, and an optional button beside it. */
export const panel = (title, { id, aside, lead } = {}, ...children) =>
  h('section', { class: 'panel', id, 'aria-label': title },
    h('div', { class: 'panel-head' }, h('h2', {}, title), aside),
    lead && h('p', { class: 'lead' }, lead), children);

/** Copies a text to the clipboard, and confirms it. */
export async function copy(desk, text) {
  try {
    await navigator.clipboard.writeText(text);
    desk.say(say('copied'));
  } catch (_) {
    desk.say(say('copy_failed'), true);
  }
}
