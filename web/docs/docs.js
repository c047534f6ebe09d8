// Shows the OpenAPI description that the service publishes, with a search; in development mode operations can be tried out.

import './docs-words.js';
import { get } from '../client/api.js';
import { show } from './docs-operation.js';
import { searchText } from './docs-schema.js';
import { $, h } from '../lib/dom.js';
import { language, say } from '../lib/words.js';

const chinese = language !== 'en';

/** All operations in the order of the route table, each with its method and path. */
function operationsOf(all) {
  const entries = Object.entries(all.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  return entries.sort((one, other) => one.operation['x-place'] - other.operation['x-place']);
}

function showAll(all, entries, trial) {
  all.tags.forEach((tag, at) => {
    const name = tag[chinese ? 'x-name-zh' : 'name'];
    const own = entries.filter(({ operation }) => operation.tags.includes(tag.name));
    own.forEach((entry) => { entry.element = show(all, entry, trial); });
    const link = h('a', { href: `#flow-${at}` }, name);
    const section = h('section', { id: `flow-${at}` }, h('h2', {}, name), own.map(({ element }) => element));
    own.forEach((entry) => { entry.group = [link, section]; });
    $('flows').append(link);
    $('operations').append(section);
  });
}

/** Leaves only the operations that have every word of the search. */
function search(all, entries) {
  const words = $('query').value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (entry) => {
    entry.text = entry.text || searchText(all, entry);
    return words.every((word) => entry.text.includes(word));
  };
  const found = entries.filter(fits);
  entries.forEach(({ element, group }) => [element, ...group].forEach((each) => { each.hidden = true; }));
  found.forEach(({ element, group }) => [element, ...group].forEach((each) => { each.hidden = false; }));
  $('found').textContent = words.length ? say('docs_found', { found: found.length, all: entries.length }) : '';
}

function offerSearch(all, entries) {
  const look = () => search(all, entries);
  $('search').hidden = false;
  $('search').onsubmit = (event) => event.preventDefault();
  $('query').oninput = (event) => event.isComposing || look();
  $('query').addEventListener('compositionend', look);
  // The browser may have kept the query of the page as it was left.
  look();
}

/** Opens the operation that the address names. */
function openNamed() {
  const named = $(location.hash.slice(1));
  if (!named) return;
  if (named.hidden) {
    $('query').value = '';
    $('query').oninput({});
  }
  if (named.tagName === 'DETAILS') named.open = true;
  named.scrollIntoView();
}

/** What operations are tried out with, where that is possible: in development mode only. */
async function offerTrial(all) {
  const { data } = await get('/api/ready');
  if (!data || data.mode !== 'development') return () => [];
  const { openTrial } = await import('./docs-try.js');
  return openTrial(all, $('trial'));
}

try {
  const all = await (await fetch('/api/openapi.json', { redirect: 'error' })).json();
  const entries = operationsOf(all);
  showAll(all, entries, await offerTrial(all));
  offerSearch(all, entries);
  document.body.dataset.view = 'docs';
  openNamed();
  window.addEventListener('hashchange', openNamed);
} catch (_) {
  $('refusal').textContent = say('docs_unreadable');
  $('refusal').hidden = false;
}
