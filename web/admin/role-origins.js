// Where the roles of a person come from, and temporary roles.

import './admin-words.js';
import { field } from '../components/dialog.js';
import { h } from '../lib/dom.js';
import { moment, panel } from '../components/listing.js';
import { called, mayChange, ROLES } from './person.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  origins: ['Where the roles come from', '角色来源'],
  origins_none: ['No role is assigned.', '没有分配角色。'],
  origin_by_hand: ['assigned by hand', '手动分配'],
  origin_by_rule: ['by a role rule', '由角色规则授予'],
  origin_until: ['until', '有效期至'],
  origin_why: ['Reason: {reason}', '事由：{reason}'],
  temporary_go: ['Give a temporary role', '授予临时角色'],
  temporary_title: ['Give {name} a temporary role', '授予 {name} 临时角色'],
  temporary_text: [
    'The role ends by itself, also in existing sessions. Giving it again replaces the end.',
    '到期后角色自动收回，对已登录的会话同样有效。再次授予会更新到期时间。',
  ],
  temporary_long: ['For how long', '时长'],
  temporary_why: ['Reason', '事由'],
  temporary_why_hint: ['It is recorded in the audit log.', '将记入审计日志。'],
  temporary_given: ['{name} is {role} until {time}.', '{name} 已获得{role}角色，有效期至 {time}。'],
  temporary_30: ['30 minutes', '30 分钟'],
  temporary_60: ['1 hour', '1 小时'],
  temporary_120: ['2 hours', '2 小时'],
  temporary_240: ['4 hours', '4 小时'],
  temporary_480: ['8 hours', '8 小时'],
  temporary_1440: ['1 day', '1 天'],
  temporary_10080: ['7 days', '7 天'],
  temporary_43200: ['30 days', '30 天'],
});

/** The durations that are offered, in minutes. */
const DURATIONS = [30, 60, 120, 240, 480, 1440, 10080, 43200];
const USUAL = 120;
/** The role that is offered first: that of a stand-in at the desk. */
const MOST_GIVEN = 'agent';

/** The panel; `reload` is called after a role was given. */
export function originsPanel(desk, person, reload) {
  const { role_origins: origins = [] } = person;
  const give = mayChange(desk) && isOpen(person) && h('button', {
    class: 'button small', 'data-act': 'temporary-role', onclick: async () => (await giveTemporaryRole(desk, person)) && reload(),
  }, say('temporary_go'));
  return panel(say('origins'), { id: 'origins', aside: give },
    origins.length ? h('ul', { class: 'rules' }, origins.map(row)) : h('p', { class: 'lead' }, say('origins_none')));
}

function row({ role, by_hand, by_rule, until, reason }) {
  const tag = (look, ...text) => h('span', { class: `tag ${look}` }, text);
  return h('li', { 'data-role': role },
    h('div', {}, h('strong', {}, sayOr(role)), reason && h('small', { dir: 'auto' }, say('origin_why', { reason }))),
    h('div', { class: 'what' },
      by_hand && tag('', say('origin_by_hand')),
      by_rule && tag('', say('origin_by_rule')),
      until && tag('warm', say('origin_until'), ' ', moment(until))));
}

/** The roles that a person does not hold permanently by hand. */
const open = ({ role_origins: origins = [] }) => ROLES.filter((role) => !origins.some((one) => one.role === role && one.by_hand && !one.until));
const isOpen = (person) => open(person).length > 0;

/** Asks which role, for how long, and why; returns whether it was given. */
async function giveTemporaryRole(desk, person) {
  const { corp_id, employee_id } = person;
  const option = (value, text) => h('option', { value }, text);
  const role = h('select', { name: 'role' }, open(person).map((name) => option(name, sayOr(name))));
  if (open(person).includes(MOST_GIVEN)) role.value = MOST_GIVEN;
  const minutes = h('select', { name: 'minutes' }, DURATIONS.map((one) => option(one, say(`temporary_${one}`))));
  minutes.value = String(USUAL);
  const answer = await desk.risky({
    method: 'POST',
    path: '/api/admin/roles/temporary',
    body: (values) => ({ corp_id, employee_id, role: values.role, minutes: Number(values.minutes), reason: values.reason.trim() }),
    title: say('temporary_title', { name: called(person) }),
    text: say('temporary_text'),
    fields: [
      field(say('role_held'), { name: 'role' }, '', role),
      field(say('temporary_long'), { name: 'minutes' }, '', minutes),
      field(say('temporary_why'), { name: 'reason', required: true, maxlength: '200', pattern: '.*\\S.*', autocomplete: 'off' }, say('temporary_why_hint')),
    ],
    action: say('temporary_go'),
    review: (values) => ({ text: '', danger: values.role === 'admin' }),
  });
  if (!answer) return false;
  const time = moment(answer.data.until).textContent;
  desk.say(say('temporary_given', { name: called(person), role: sayOr(role.value), time }));
  return true;
}
