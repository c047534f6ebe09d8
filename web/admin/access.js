// The access matrix, and the people who may do a certain operation.

import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { holders } from './holders.js';
import { panel, refused } from '../components/listing.js';
import { OPERATIONS, SCOPES, legend, picture, reaches, word } from './matrix.js';
import { language, learn, say, sayOr } from '../lib/words.js';

learn({
  who_can: ['Who can do this?', '谁有此权限？'],
  who_can_lead: ['Choose an operation, or press a cell of the matrix below.', '请选择操作，或点击下方矩阵中的单元格。'],
  what: ['Operation', '操作'],
  of_what: ['Resource', '对象'],
  whose: ['Scope', '范围'],
  some_may: ['{roles} may {operation} {resource} of {scope}.', '{roles}可以{operation}{scope}的{resource}。'],
  none_may: ['No role may {operation} {resource} of {scope}.', '没有角色可以{operation}{scope}的{resource}。'],
  active_counts: [
    'Only the active role counts. Other roles take effect after switching to them.',
    '以当前角色为准；拥有的其他角色，切换之后才会生效。',
  ],
  matrix_lead: [
    'Each cell shows the widest scope of a role; it includes the narrower scopes.',
    '每格表示该角色的最大范围；范围较大者也包含较小的范围。',
  ],
  print: ['Print', '打印'],
});

/** The initial question: an operation that some roles may do, and some may not. */
const FIRST = { operation: 'read', resource: 'conversation', scope: 'department' };

/** Shows the matrix. */
export function show(desk, place) {
  const body = h('div', { class: 'stack' }, h('p', { class: 'lead' }, say('reading')));
  place.append(body);
  const load = async () => {
    const answer = await desk.get('/api/admin/matrix');
    if (!body.isConnected) return;
    if (answer.code !== 0) fill(body, refused(answer, load));
    else draw(desk, body, answer.data.items);
  };
  load();
}

function draw(desk, body, rows) {
  const sentence = h('p', { id: 'answer', role: 'status' });
  const people = holders(desk);
  const form = questionForm(Object.keys(rows[0].permissions), () => answer());
  const image = picture(rows, (asked) => {
    Object.entries(asked).forEach(([name, value]) => {
      form.elements[name].value = value;
    });
    answer();
    form.scrollIntoView({ block: 'nearest' });
  });
  const answer = () => {
    const asked = Object.fromEntries(new FormData(form));
    const roles = rows.filter(({ permissions }) => reaches(permissions[asked.resource][asked.operation], asked.scope));
    image.mark(asked);
    sentence.textContent = inWords(roles.map(({ role }) => role), asked);
    people.of(roles.map(({ role }) => role));
  };
  const print = h('button', { class: 'button small noprint', type: 'button', onclick: () => window.print() }, say('print'));
  fill(body,
    panel(say('who_can'), { id: 'who-can', lead: say('who_can_lead') },
      form, sentence, h('p', { class: 'hint' }, say('active_counts'))),
    panel(say('matrix'), { id: 'matrix', lead: say('matrix_lead'), aside: print }, legend(), image),
    people.element);
  answer();
}

function questionForm(resources, changed) {
  const choice = (name, label, kind, values) => {
    const option = (value) => h('option', { value, selected: value === FIRST[name] }, word(kind, value));
    return field(label, { name, id: `ask-${name}` }, '', h('select', { name }, values.map(option)));
  };
  return h('form', { class: 'filters asking noprint', onchange: changed, onsubmit: (event) => event.preventDefault() },
    choice('operation', say('what'), 'operation', OPERATIONS),
    choice('resource', say('of_what'), 'resource', resources),
    choice('scope', say('whose'), 'scope', SCOPES));
}

function inWords(roles, { resource, operation, scope }) {
  const named = new Intl.ListFormat(language, { type: 'conjunction' }).format(roles.map(sayOr));
  const blanks = { operation: word('operation', operation), resource: word('resource', resource), scope: word('scope', scope) };
  return say(roles.length ? 'some_may' : 'none_may', { ...blanks, roles: named });
}
