// The filters of a list: a row of fields, which is also in the address, so that it can be bookmarked and shared.

import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { learn, say } from '../lib/words.js';

learn({
  filters: ['Filter', '筛选'],
  any: ['Any', '不限'],
  clear: ['Clear', '清除筛选'],
  more_filters: ['More filters', '更多筛选'],
  corporation: ['Corporation', '企业'],
  home_corporation: ['{corp} (ours)', '{corp}（本企业）'],
});

/** The pause in typing after which the list is read again. */
const PAUSE = 300;

/**
 * A form with named fields. `changed()` is called when the query changes. With `corporations` there is a choice of them where the
 * user may see several. `more` are rarely needed fields.
 * Returns the element, which has `asked()`, the chosen filters as a query.
 */
export function filters(desk, { fields, more = [], corporations = false, changed }) {
  const given = desk.places.query();
  const clear = h('button', { class: 'button small', type: 'button', 'data-act': 'clear', hidden: true }, say('clear'));
  const corp = corporations && h('input', { type: 'hidden', name: 'corp_id' });
  const seldom = more.length > 0 && h('details', { class: 'seldom' },
    h('summary', {}, say('more_filters')), h('div', { class: 'filters' }, more));
  const form = h('form', { role: 'search', 'aria-label': say('filters'), autocomplete: 'off' },
    h('div', { class: 'filters' }, corp, fields, clear), seldom);
  for (const input of form.elements) if (given.has(input.name)) input.value = given.get(input.name);
  if (seldom) seldom.open = more.some((one) => one.querySelector('input, select').value);
  form.asked = () => {
    const pairs = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
    return new URLSearchParams(pairs.filter(([, value]) => value));
  };
  follow(desk, form, clear, changed);
  if (corp) offerCorporations(desk, corp, given.get('corp_id'));
  return form;
}

/** Reads the list again whenever a filter changes: at once, or after a pause in typing. */
function follow(desk, form, clear, changed) {
  let timer = 0;
  let last = String(form.asked());
  clear.hidden = !last;
  const look = () => {
    clearTimeout(timer);
    const asked = String(form.asked());
    clear.hidden = !asked;
    if (asked === last || !form.isConnected) return;
    last = asked;
    desk.places.note(asked);
    changed();
  };
  form.oninput = (event) => {
    clearTimeout(timer);
    // An unfinished Chinese input is not a name yet.
    if (!event.isComposing) timer = setTimeout(look, PAUSE);
  };
  form.addEventListener('compositionend', () => {
    timer = setTimeout(look, PAUSE);
  });
  form.onchange = look;
  form.onsubmit = (event) => {
    event.preventDefault();
    look();
  };
  clear.onclick = () => {
    for (const input of form.elements) if (input.name) input.value = '';
    form.querySelector('input:not([type=hidden]), select').focus();
    look();
  };
}

async function offerCorporations(desk, place, chosen) {
  const { code, data } = await desk.get('/api/admin/corporations');
  if (code !== 0) return;
  if (data.items.length < 2) {
    // A hidden filter must not narrow the list.
    place.value = '';
    place.form.requestSubmit();
    return;
  }
  const option = ({ corp_id, home }) => [
    corp_id === desk.me.corp_id ? '' : corp_id,
    home ? say('home_corporation', { corp: corp_id }) : corp_id,
  ];
  // The user's own corporation comes first: it is shown unless another one is chosen.
  const options = data.items.map(option).sort(([one], [other]) => one.localeCompare(other));
  place.replaceWith(choice('corp_id', say('corporation'), options, chosen || ''));
}

/** A field to choose from; `options` are pairs of a value and its text. */
export function choice(name, label, options, value = '') {
  const select = h('select', { name }, options.map(([word, text]) => h('option', { value: word }, text)));
  select.value = value;
  return field(label, { id: `filter-${name}` }, '', select);
}

/** An optional choice. */
export const anyChoice = (name, label, options) => choice(name, label, [['', say('any')], ...options]);

/** A text field. */
export const typed = (name, label, attributes = {}) =>
  field(label, { id: `filter-${name}`, name, autocapitalize: 'none', spellcheck: 'false', ...attributes });

/** A line above a list with the number of items. */
export function counter() {
  const line = h('p', { class: 'lead tally', role: 'status' });
  line.tell = (text) => fill(line, text);
  return line;
}
