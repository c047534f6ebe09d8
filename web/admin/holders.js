// The holders of roles: the first few of each, and more on request.

import { fill, h } from '../lib/dom.js';
import { panel, refused } from '../components/listing.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  holders: ['Who holds these roles', '拥有这些角色的人员'],
  holders_some: ['Counts only people whom you may see.', '仅统计您有权查看的人员。'],
  holders_none: ['None.', '无。'],
  people_count: ['{count} people', '{count} 人'],
  person_count: ['1 person', '1 人'],
  people_over: ['at least {count} people', '至少 {count} 人'],
  all_in_people: ['Show in People', '在“人员”中查看'],
  all_in_people_of: ['Show in People: {role}', '在“人员”中查看：{role}'],
});

const FEW = 6;

/** A panel with the holders of roles; `of(roles)` sets the roles. */
export function holders(desk) {
  const list = h('div', { class: 'holders' });
  const lead = desk.me.current_role === 'admin' ? null : say('holders_some');
  const element = panel(say('holders'), { id: 'holders', lead }, list);
  element.classList.add('noprint');
  // Repeated questions do not read the same people again.
  const known = new Map();
  const of = (roles) => {
    element.hidden = !roles.length;
    roles.filter((role) => !known.has(role)).forEach((role) => known.set(role, holdersOf(desk, role)));
    fill(list, roles.map((role) => known.get(role)));
  };
  return { element, of };
}

function holdersOf(desk, role) {
  const count = h('span', { class: 'how-many' });
  const names = h('ul', { class: 'names' });
  const foot = h('div', { class: 'foot' });
  const more = async (after) => {
    fill(foot, h('p', { class: 'lead' }, say('reading')));
    let [answer, next] = [null, after];
    // A page can have nobody, and a next page.
    do {
      const query = new URLSearchParams({ role, page_size: FEW, ...(next && { after: next }) });
      answer = await desk.get(`/api/admin/roles/user-roles?${query}`);
      if (answer.code !== 0) {
        fill(foot, refused(answer, () => more(after)));
        return;
      }
      next = answer.data.next;
    } while (next && !answer.data.items.length);
    const { items } = answer.data;
    count.textContent = counted(answer.data);
    names.append(...items.map(person));
    const [first] = [...names.children].slice(-items.length);
    fill(foot, next && h('button', { class: 'button small', 'data-act': 'more', onclick: () => more(next) }, say('more')),
      !names.children.length && h('p', { class: 'lead' }, say('holders_none')));
    // The focus moves to the first of the new rows.
    if (after && first) first.focus();
  };
  more(null);
  const everybody = say('all_in_people_of', { role: sayOr(role) });
  return h('section', { 'data-role': role, 'aria-label': sayOr(role) },
    h('div', { class: 'panel-head' }, h('h3', {}, sayOr(role), ' ', count),
      h('a', { href: `#/people?role=${role}`, 'aria-label': everybody }, say('all_in_people'))),
    names, foot);
}

const person = ({ employee_id, name, department }) =>
  h('li', { tabindex: '-1', 'data-id': employee_id }, name || employee_id,
    h('small', {}, [name && employee_id, department].filter(Boolean).join(' · ')));

function counted({ total, total_exact }) {
  if (!total_exact) return total ? say('people_over', { count: total }) : '';
  return total === 1 ? say('person_count') : say('people_count', { count: total });
}
