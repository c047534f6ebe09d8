// The phone's page on which users approve an operation of their own: shows what would be done, and by which computer.

import { timeOf } from './ask.js';
import { fill, h } from '../lib/dom.js';
import { $, tell } from '../lib/page.js';
import { openQuestion, tellFact } from './phone-question.js';
import { say } from '../lib/words.js';

openQuestion({ path: '/api/auth/approvals', field: 'approval', words: 'approve', hasNext: true, draw });

function draw({ who, what, client, ip_address, asked_at }) {
  tell('sentence', what.sentence);
  tell('asker', [client.browser, client.system, ip_address, timeOf(asked_at)].filter(Boolean).join(' · '));
  tellFact('summary', what.summary);
  tellFact('request', `${what.method} ${what.path}`);
  // The fields as they count: the text of the body could be spelled so that its reader misses what it does.
  fill($('fields'), what.fields.map(row));
  $('fields').hidden = $('fields-title').hidden = what.fields.length === 0;
  tellFact('account', who.name ? `${who.name} (${who.employee_id})` : who.employee_id);
  tellFact('browser', client.browser || say('unknown'));
  tellFact('os', client.system || say('unknown'));
  tellFact('address', ip_address || say('unknown'));
  tellFact('asked-at', timeOf(asked_at));
  return { title: say('approve_title'), pick: say('approve_pick'), values: {} };
}

/** A field by its name, with dots for nested ones. An empty value is shown as such. */
function row({ name, value }) {
  const shown = value === '' ? h('i', {}, say('approve_empty')) : value;
  return h('div', { 'data-field': name }, h('dt', {}, name), h('dd', {}, shown));
}
