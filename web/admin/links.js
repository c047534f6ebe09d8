// People of connected corporations who may act as an employee here.

import { field } from '../components/dialog.js';
import { h } from '../lib/dom.js';
import { listing, moment, panel } from '../components/listing.js';
import { pathPart } from './paths.js';
import { learn, say } from '../lib/words.js';

learn({
  links_made: ['Approved links', '已批准的关联'],
  links_lead: [
    'A link lets one person of a connected corporation sign in here as one of your employees, with that employee’s roles. '
      + 'Approve it only when you know that the two are the same person.',
    '关联后，互联企业的某位成员能以本企业某位员工的身份登录，并拥有其角色。仅在确认两者为同一人时才批准。',
  ],
  new_link: ['Approve a link', '批准关联'],
  link_text: ['The person can then sign in as this employee.', '批准后，此人能以该员工的身份登录。'],
  link_corp: ['Connected corporation (CorpID)', '对方企业（CorpID）'],
  link_user: ['User ID in that corporation', '在对方企业的{platform.zh}账号'],
  link_employee: ['Employee ID', '在本企业的{platform.zh}账号'],
  approve: ['Approve', '批准'],
  outsider: ['Person of a connected corporation', '互联企业成员'],
  acts_as: ['Employee', '对应员工'],
  approved: ['Approved', '批准时间'],
  link_use: ['State', '状态'],
  link_unused: ['not used yet', '尚未使用'],
  link_used: ['in use', '使用中'],
  since: ['since', '自'],
  remove: ['Remove', '移除'],
  remove_named: ['Remove the link of {user}', '移除 {user} 的关联'],
  remove_title: ['Remove the link of {user}?', '移除 {user} 的关联？'],
  remove_text: ['{user} can no longer sign in as {employee}.', '{user} 将无法再以 {employee} 的身份登录。'],
  link_made: ['{user} may now sign in as {employee}.', '{user} 现在能以 {employee} 的身份登录。'],
  link_removed: ['The link of {user} is removed.', '{user} 的关联已移除。'],
  no_links: ['There are no links to connected corporations.', '尚无互联企业成员与本企业员工关联。'],
});

const PATH = '/api/admin/links';

/** Shows the links. */
export function show(desk, place) {
  const add = h('button', { class: 'button small main', id: 'new-link', onclick: () => approve(desk, list) }, say('new_link'));
  const list = listing({
    label: say('view_links'), empty: say('no_links'), load: () => desk.get(PATH),
    columns: columns((link) => remove(desk, link, { list, add })),
  });
  place.append(panel(say('links_made'), { id: 'links', aside: add, lead: say('links_lead') }, list));
}

const pair = (id, corp) => h('div', {}, h('strong', {}, id), h('small', {}, corp));

const columns = (onRemove) => [
  { title: say('outsider'), cell: ({ identity }) => pair(identity.user_id, identity.corp_id) },
  { title: say('acts_as'), cell: ({ target }) => pair(target.employee_id, target.corp_id) },
  { title: say('approved'), cell: ({ approved_at }) => moment(approved_at) },
  { title: say('link_use'), cell: use },
  {
    hidden: say('acts'), class: 'acts',
    cell: (link) => h('button', {
      class: 'button small', 'data-act': 'remove', 'data-id': `${link.identity.corp_id}/${link.identity.user_id}`,
      'aria-label': say('remove_named', { user: link.identity.user_id }), onclick: () => onRemove(link),
    }, say('remove')),
  },
];

const use = ({ bound_at }) =>
  (bound_at
    ? h('div', {}, h('span', { class: 'tag good' }, say('link_used')), h('small', {}, `${say('since')} `, moment(bound_at)))
    : h('span', { class: 'tag' }, say('link_unused')));

async function approve(desk, list) {
  const plain = { required: true, maxlength: '64', autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' };
  const asked = {};
  const answer = await desk.risky({
    method: 'POST', path: PATH, title: say('new_link'), text: say('link_text'), action: say('approve'),
    fields: [
      field(say('link_corp'), { ...plain, name: 'corp_id' }),
      field(say('link_user'), { ...plain, name: 'user_id' }),
      field(say('link_employee'), { ...plain, name: 'employee_id' }),
    ],
    body: ({ corp_id, user_id, employee_id }) =>
      Object.assign(asked, { corp_id: corp_id.trim(), user_id: user_id.trim(), employee_id: employee_id.trim() }),
  });
  if (!answer) return;
  desk.say(say('link_made', { user: asked.user_id, employee: asked.employee_id }));
  list.reload();
}

async function remove(desk, { identity, target }, { list, add }) {
  const blanks = { user: identity.user_id, employee: target.employee_id };
  const answer = await desk.risky({
    method: 'DELETE', path: `${PATH}/${pathPart(identity.corp_id)}/${pathPart(identity.user_id)}`,
    danger: true,
    title: say('remove_title', blanks), text: say('remove_text', blanks), action: say('remove'),
  });
  if (!answer) return;
  desk.say(say('link_removed', blanks));
  await list.reload();
  add.focus();
}
