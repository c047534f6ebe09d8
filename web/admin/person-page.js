// One person: roles, credentials, sessions, recent entries of the audit log, and what they may do.

import './admin-words.js';
import { fill, h } from '../lib/dom.js';
import { listing, moment, panel, refused } from '../components/listing.js';
import { entryColumns, entryDetail, readLog } from './log.js';
import { legend, picture } from './matrix.js';
import { aboutPerson, heldRoles, holderNames, leftTag, path, personActs, unconfirmedTag } from './person.js';
import { originsPanel } from './role-origins.js';
import { sessionColumns } from './signed-in.js';
import { learn, say } from '../lib/words.js';

learn({
  person_lead: ['Department', '部门'],
  person_last: ['Last sign-in', '最近登录'],
  person_never: ['never', '从未登录'],
  person_disabled: ['disabled', '已停用'],
  person_platform: ['{platform.en}', '{platform.zh}'],
  person_left_next: [
    'They cannot sign in until {platform.en} admits them again; then they are admitted at their next sign-in.',
    '在{platform.zh}恢复其账号之前无法登录；恢复后，下次登录时自动解除。',
  ],
  person_holder: ['Identity to be confirmed', '身份待确认'],
  person_holder_limited: [
    '{platform.en} has another name for this employee ID: {now}, formerly {former}. They sign in with the default role only until they are confirmed. For another person, take away their roles first.',
    '{platform.zh}中该账号的姓名已变更：现为 {now}，此前为 {former}。在确认之前，仅能以默认角色登录。如为另一人，请先收回其角色。',
  ],
  person_holder_refused: [
    '{platform.en} says that another person has this employee ID: {now}, formerly {former}. They cannot sign in until they are confirmed. For another person, take away their roles first.',
    '{platform.zh}显示该账号已属于另一人：现为 {now}，此前为 {former}。在确认之前无法登录。如为另一人，请先收回其角色。',
  ],
  person_sessions: ['Sessions', '会话'],
  person_no_sessions: ['Not signed in anywhere.', '目前没有登录会话。'],
  person_entries: ['Recent entries of the audit log', '最近的审计日志'],
  person_all_entries: ['All entries', '全部日志'],
  person_may: ['Permissions', '权限'],
  person_may_lead: ['Only the active role counts. Each role they can switch to has a row.', '以当前角色为准，每个可切换的角色各占一行。'],
  person_may_nothing: ['They have no role, so they cannot sign in.', '没有角色，因此无法登录。'],
  person_credentials: ['Authenticator and password', '身份验证器与密码'],
  person_authenticator: ['Authenticator', '身份验证器'],
  person_password: ['Password for outages', '应急密码'],
  person_on: ['On', '已启用'],
  person_off: ['Off', '未设置'],
  person_unproven: ['Not confirmed through {platform.en}', '未经{platform.zh}确认'],
  person_used: ['last used', '最近使用'],
  person_state: ['State', '状态'],
  person_locked: ['Locked after failed attempts', '错误次数过多，已锁定'],
  person_agent: ['Manage under “Agents”', '在“坐席”中管理'],
  person_all: ['All people', '全部人员'],
  corporation_of: ['Corporation', '企业'],
  person_none: ['There is no such employee.', '没有该员工。'],
});

/** The number of entries of the log that are shown here. */
const FEW = 10;

/** Parts of a path that lead elsewhere in the API. The names come from the address, which anyone can write. */
const STEPS = ['', '.', '..'];

/** Shows the person that the address names. */
export function show(desk, place) {
  const asked = desk.places.query();
  const person = { corp_id: asked.get('corp_id') || desk.me.corp_id, employee_id: asked.get('employee_id') || '' };
  const [head, lists] = [h('div', { class: 'stack' }, h('p', { class: 'lead' }, say('reading'))), h('div', { class: 'stack' })];
  place.append(h('p', {}, h('a', { href: '#/people' }, `← ${say('person_all')}`)), head, lists);
  if (STEPS.includes(person.corp_id) || STEPS.includes(person.employee_id)) {
    fill(head, h('p', { class: 'refusal', role: 'alert' }, say('person_none')));
    return;
  }
  const load = async () => {
    const answer = await desk.get(path(person));
    if (!head.isConnected) return;
    if (answer.code !== 0) fill(head, refused(answer, load));
    else draw(desk, { place, head, lists }, answer.data, load);
  };
  load();
}

function draw(desk, { place, head, lists }, person, reload) {
  place.querySelector('h1').textContent = person.name || person.employee_id;
  fill(head, facts(desk, person, reload), originsPanel(desk, person, reload), person.credentials && credentials(desk, person));
  if (!lists.children.length) fill(lists, sessions(desk, person), entries(desk, person), h('div', { class: 'stack', id: 'may' }));
  mayDo(desk, lists.querySelector('#may'), person);
}

function facts(desk, person, reload) {
  const { corp_id, employee_id, department, disabled, left, unconfirmed_holder: holder, last_login_at, last_login_ip } = person;
  const row = (title, ...value) => h('div', {}, h('dt', {}, title), h('dd', {}, value));
  const last = last_login_at ? [moment(last_login_at), last_login_ip && ` · ${last_login_ip}`] : say('person_never');
  return h('section', { class: 'panel', id: 'person' },
    h('dl', { class: 'facts' },
      row(say('employee_id'), employee_id),
      corp_id !== desk.me.corp_id && row(say('corporation_of'), corp_id),
      row(say('person_lead'), department || '–'),
      row(say('role_held'), disabled && h('span', { class: 'tag bad' }, say('person_disabled')), heldRoles(person)),
      left && row(say('person_platform'), leftTag(person), h('small', {}, ` ${say('person_left_next')}`)),
      holder && row(say('person_holder'), unconfirmedTag(person), h('p', { class: 'hint' }, holderText(holder))),
      row(say('person_last'), last)),
    personActs(desk, person, reload, false));
}

/** What the platform says about who has the employee ID now. */
const holderText = (holder) => say(holder.refused ? 'person_holder_refused' : 'person_holder_limited', holderNames(holder));

function credentials(desk, { corp_id, credentials: { is_agent, has_device, device_proven, device_verified_at, has_password, locked } }) {
  // Where authenticators are unlocked and reset, also those of people who are not agents.
  const managed = (is_agent || has_device || locked) && corp_id === desk.me.corp_id;
  const tag = (kind, text) => h('span', { class: `tag ${kind}` }, say(text));
  const row = (title, ...value) => h('div', {}, h('dt', {}, say(title)), h('dd', {}, value));
  return panel(say('person_credentials'), { id: 'credentials' },
    h('dl', { class: 'facts' },
      row('person_authenticator',
        has_device ? tag('good', 'person_on') : tag('', 'person_off'),
        has_device && !device_proven && tag('warm', 'person_unproven'),
        device_verified_at && h('span', {}, ` ${say('person_used')} `, moment(device_verified_at))),
      is_agent && row('person_password', has_password ? tag('good', 'person_on') : tag('', 'person_off')),
      locked && row('person_state', tag('bad', 'person_locked'))),
    managed && h('p', {}, h('a', { href: '#/agents' }, say('person_agent'))));
}

function sessions(desk, person) {
  const { corp_id, employee_id } = person;
  const list = listing({
    label: say('person_sessions'), empty: say('person_no_sessions'), id: ({ id }) => id,
    columns: sessionColumns(desk, () => list.reload()),
    load: (after) => desk.get(`/api/admin/sessions?${new URLSearchParams({ corp_id, employee_id, ...(after && { after }) })}`),
  });
  return panel(say('person_sessions'), { id: 'sessions' }, list);
}

function entries(desk, person) {
  const { corp_id, employee_id } = person;
  const all = h('a', { class: 'link', href: aboutPerson('log', person, desk) }, say('person_all_entries'));
  const asked = new URLSearchParams({ corp_id, employee_id, page_size: FEW });
  const load = async () => {
    const answer = await readLog(desk, asked);
    return answer.code === 0 ? { ...answer, data: { ...answer.data, next: null } } : answer;
  };
  const list = listing({ label: say('person_entries'), columns: entryColumns(), load, id: ({ id }) => id, detail: entryDetail() });
  return panel(say('person_entries'), { id: 'entries', aside: all }, list);
}

async function mayDo(desk, place, { sign_in_roles: roles }) {
  const answer = await desk.get('/api/admin/matrix');
  if (!place.isConnected) return;
  const rows = answer.code === 0 ? answer.data.items.filter(({ role }) => roles.includes(role)) : [];
  fill(place, panel(say('person_may'), { lead: roles.length > 0 && say('person_may_lead') },
    answer.code !== 0 && refused(answer, () => mayDo(desk, place, { sign_in_roles: roles })),
    rows.length > 0 ? [legend(), picture(rows, () => {})] : answer.code === 0 && h('p', { class: 'lead' }, say('person_may_nothing'))));
}
