// The employees and their roles.

import './admin-words.js';
import { h } from '../lib/dom.js';
import { anyChoice, choice, counter, filters, typed } from './filters.js';
import { listing, moment, panel } from '../components/listing.js';
import { called, heldRoles, leftTag, mayChange, namedLink, personActs, ROLES, unconfirmedTag } from './person.js';
import { language, learn, say, sayOr } from '../lib/words.js';

learn({
  people_found: ['All people', '全部人员'],
  search: ['Name or employee ID', '姓名或{platform.zh}账号'],
  search_hint: ['Beginning of a name or ID', '姓名或账号的开头'],
  department: ['Department', '部门'],
  sort: ['Order (unless searching)', '排序（搜索时无效）'],
  sort_employee_id: ['By employee ID', '按{platform.zh}账号'],
  sort_name: ['By name', '按姓名'],
  sort_last_login: ['Latest sign-in first', '最近登录优先'],
  people_total: ['{n} people', '共 {n} 人'],
  people_one: ['1 person', '共 1 人'],
  people_many: ['At least {n} people', '至少 {n} 人'],
  no_match: ['No one matches. Try the beginning of a name, or fewer filters.', '没有符合条件的人员。请尝试姓名的开头，或减少筛选条件。'],
  last_sign_in: ['Last sign-in', '最近登录'],
  never: ['never', '从未'],
  is_disabled: ['disabled', '已停用'],
  look_at: ['More', '更多'],
});

// The default order is by identifier.
const SORTS = ['', 'name', 'last_login'];

/** Shows people. */
export function show(desk, place) {
  const count = counter();
  const form = filters(desk, {
    corporations: true,
    fields: [
      typed('q', say('search'), { type: 'search', maxlength: '40', placeholder: say('search_hint') }),
      anyChoice('role', say('role_held'), ROLES.map((role) => [role, sayOr(role)])),
    ],
    more: [
      typed('department', say('department')),
      choice('sort', say('sort'), SORTS.map((sort) => [sort, say(`sort_${sort || 'employee_id'}`)])),
    ],
    changed: () => list.reload(true),
  });
  const load = (after) => desk.get(`/api/admin/employees?${queryOf(form, after)}`);
  const list = listing({
    label: say('view_people'), columns: columns(desk), load, empty: say('no_match'), id,
    detail: {
      label: say(mayChange(desk) ? 'manage' : 'look_at'), of: called,
      content: (person) => personActs(desk, person, () => list.reload()),
    },
    onPage: (data) => count.tell(howMany(data)),
  });
  place.append(panel(say('people_found'), { id: 'people', aside: count }, form, list));
}

const id = ({ corp_id, employee_id }) => `${corp_id}/${employee_id}`;

/** A search or a role has an order of its own. */
function queryOf(form, after) {
  const query = form.asked();
  if (query.has('q') || query.has('role')) query.delete('sort');
  if (after) query.set('after', after);
  return query;
}

function howMany({ total, total_exact }) {
  const n = total.toLocaleString(language);
  // Only the first candidates are counted, and perhaps none of them matches.
  if (!total_exact) return total ? say('people_many', { n }) : '';
  return total === 1 ? say('people_one') : say('people_total', { n });
}

const columns = (desk) => [
  { title: say('person'), cell: (person) => namedLink(person, desk) },
  { title: say('department'), cell: ({ department }) => department || '–' },
  { title: say('role_held'), cell: (person) => h('div', {},
    person.disabled && h('span', { class: 'tag bad' }, say('is_disabled')),
    leftTag(person), unconfirmedTag(person), heldRoles(person)) },
  { title: say('last_sign_in'), cell: ({ last_login_at, last_login_ip }) =>
    (last_login_at ? h('div', {}, moment(last_login_at), h('small', {}, last_login_ip)) : say('never')) },
];
