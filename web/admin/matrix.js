// The access matrix as a picture: the scope of each role as bars, with a letter and the words beside them.

import { h, svg } from '../lib/dom.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  matrix: ['Access matrix', '权限矩阵'],
  role: ['Role', '角色'],
  resource_conversation: ['conversations', '对话'],
  resource_approval: ['approvals', '审批'],
  resource_knowledge: ['knowledge', '知识库'],
  resource_account: ['accounts', '账号'],
  operation_read: ['read', '查看'],
  operation_create: ['create', '新建'],
  operation_update: ['update', '修改'],
  operation_delete: ['delete', '删除'],
  letter_read: ['R', '查'],
  letter_create: ['C', '建'],
  letter_update: ['U', '改'],
  letter_delete: ['D', '删'],
  scope_none: ['none', '无权限'],
  scope_own: ['their own', '本人'],
  scope_department: ['their department', '本部门'],
  scope_all: ['everyone', '所有人'],
  // The end of a sentence that is only read aloud.
  stop: ['. ', '。'],
  may: ['may', '可以'],
  may_not: ['may not', '不可以'],
  reach: ['{operation}: {scope}', '{operation}：{scope}'],
  legend: ['Legend', '图例'],
});

/** The operations, in the order in which they are shown. */
export const OPERATIONS = ['read', 'create', 'update', 'delete'];
/** The scopes; each includes those before it. */
export const SCOPES = ['own', 'department', 'all'];
// Rising bars: their shape too shows which of them are full.
const BARS = [[0, 9, 4], [6, 5, 8], [12, 1, 12]];

/** The text for a value of the matrix; an unknown value is shown as it is. */
export function word(kind, name) {
  const key = `${kind}_${name}`;
  const known = sayOr(key);
  return known === key ? name : known;
}

const capital = ([first, ...rest]) => first.toUpperCase() + rest.join('');

/** Whether a cell with `granted` permits `scope`. */
export const reaches = (granted, scope) => SCOPES.indexOf(granted) >= SCOPES.indexOf(scope);

const bars = (scope) =>
  svg('svg', { viewBox: '0 0 16 13', width: '20', height: '16', 'aria-hidden': 'true' },
    BARS.map(([x, y, height], at) =>
      svg('rect', { x, y, height, width: '4', rx: '1', class: at <= SCOPES.indexOf(scope) ? 'full' : null })));

const face = (letter, scope) => [h('b', { 'aria-hidden': 'true' }, letter), bars(scope)];

function tile(resource, operation, granted, ask) {
  const scope = granted || 'none';
  const text = say('reach', { operation: word('operation', operation), scope: word('scope', scope) });
  return h('span', {
    class: 'grant', title: text, 'data-resource': resource, 'data-operation': operation, 'data-scope': scope,
    onclick: () => ask({ resource, operation, scope: granted || 'own' }),
  }, face(say(`letter_${operation}`), granted), h('span', { class: 'unseen' }, text + say('stop')));
}

/**
 * The picture of these rows, `{role, permissions}` each. A press on a tile asks who has the permission: `ask({resource,
 * operation, scope})`. The element has `mark(question)`, which highlights the roles that have it.
 */
export function picture(rows, ask) {
  const resources = Object.keys(rows[0].permissions);
  const tiles = (granted, resource) => OPERATIONS.map((operation) => tile(resource, operation, granted[operation], ask));
  const cell = ({ permissions }, resource) =>
    h('td', { role: 'cell', 'data-label': capital(word('resource', resource)) },
      h('span', { class: 'grants' }, tiles(permissions[resource], resource)));
  const row = (item) => h('tr', { role: 'row', 'data-role': item.role },
    h('th', { role: 'rowheader', scope: 'row' }, sayOr(item.role), h('span', { class: 'verdict' })),
    resources.map((resource) => cell(item, resource)));
  const head = (text) => h('th', { role: 'columnheader', scope: 'col' }, text);
  const element = h('table', { class: 'matrix', role: 'table', 'aria-label': say('matrix') },
    h('thead', { role: 'rowgroup' },
      h('tr', { role: 'row' }, head(say('role')), resources.map((name) => head(capital(word('resource', name)))))),
    h('tbody', { role: 'rowgroup' }, rows.map(row)));
  element.mark = (question) => rows.forEach((item) => mark(element, item, question));
  return element;
}

function mark(element, { role, permissions }, { resource, operation, scope }) {
  const may = reaches(permissions[resource][operation], scope);
  const row = element.querySelector(`[data-role="${role}"]`);
  row.dataset.may = may;
  row.querySelector('.verdict').textContent = say(may ? 'may' : 'may_not');
  row.querySelectorAll('.grant').forEach((grant) => {
    grant.classList.toggle('asked', grant.dataset.resource === resource && grant.dataset.operation === operation);
  });
}

/** The meaning of the letters and bars. */
export function legend() {
  const scope = (name) => h('li', { 'data-scope': name }, bars(name), word('scope', name));
  const operation = (name) => h('li', {}, h('b', {}, say(`letter_${name}`)), word('operation', name));
  return h('div', { class: 'legend', role: 'group', 'aria-label': say('legend') },
    h('ul', {}, OPERATIONS.map(operation)), h('ul', {}, ['none', ...SCOPES].map(scope)));
}
