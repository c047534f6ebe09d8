// The agents and other people with an authenticator: their credentials, and help when they lost them.

import './admin-words.js';
import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { copy, listing, moment, panel } from '../components/listing.js';
import { pathPart } from './paths.js';
import { called, named, ROLES } from './person.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  agents_title: ['Agents', '坐席列表'],
  agents_lead: [
    'With a password and an authenticator, agents can sign in while {platform.en} is down. Administrators need an authenticator to make changes; those who are not agents are listed once they have set one up.',
    '设置密码并绑定身份验证器后，坐席可在{platform.zh}不可用时登录。管理员进行更改需要身份验证器；非坐席的管理员绑定后也会列在此处。',
  ],
  add_agent: ['Add an agent', '添加坐席'],
  add_title: ['Add an agent', '添加坐席'],
  add_text: [
    'Creates an agent record, for a password and an authenticator. The role applies only if no other role is assigned.',
    '将创建坐席记录，用于设置密码和绑定身份验证器。此角色仅在没有分配其他角色时生效。',
  ],
  added_agent: ['Agent added.', '已添加到坐席列表。'],
  record_role: ['Default role', '默认角色'],
  state: ['State', '状态'],
  state_no_agent: ['not an agent', '非坐席'],
  state_ready: ['ready', '正常'],
  state_disabled: ['disabled', '已停用'],
  state_locked: ['locked', '已锁定'],
  state_shut: ['paused until {time}', '暂停至 {time}'],
  state_no_password: ['no password', '未设置密码'],
  state_no_device: ['no authenticator', '未绑定身份验证器'],
  state_unproven: ['authenticator not confirmed', '身份验证器待确认'],
  verified: ['Authenticator last used', '身份验证器最近使用'],
  unlock: ['Unlock', '解锁'],
  unlock_title: ['Unlock {name}?', '解锁 {name}？'],
  unlock_text: ['Failed attempts are cleared. First make sure that the agent made these attempts.', '将清除错误次数。请先确认是其本人输入有误。'],
  unlocked: ['{name} can try again.', '{name} 可以重新尝试。'],
  reset_otp: ['Reset the authenticator', '重置身份验证器'],
  reset_otp_title: ['Remove the authenticator of {name}?', '解绑 {name} 的身份验证器？'],
  reset_otp_text: [
    'The authenticator and recovery codes become invalid. You get a setup code, shown once, to set up a new one. First verify that the person requested this.',
    '其身份验证器和恢复码将失效。您将得到一个仅显示一次的设置码，供其绑定新的身份验证器。请先核实确为其本人申请。',
  ],
  reset_otp_done: ['{name} can set up a new authenticator.', '{name} 可以绑定新的身份验证器。'],
  device_code: ['Setup code for an authenticator', '生成身份验证器设置码'],
  device_code_title: ['Create an authenticator setup code for {name}?', '为 {name} 生成身份验证器设置码？'],
  device_code_text: [
    'No setup code is needed within 5 minutes of signing in with {platform.en}. First verify that the person requested this.',
    '通过{platform.zh}登录后 5 分钟内无需设置码。请先核实确为其本人申请。',
  ],
  device_code_use: [
    'Give it only to this person, to set up one authenticator under “Security”. It is shown only once and is valid until {time}.',
    '请只告知其本人，用于在“安全”中绑定一个身份验证器。仅显示这一次，有效期至 {time}。',
  ],
  reset_password: ['Reset the password', '重置密码'],
  reset_password_title: ['Reset the password of {name}?', '重置 {name} 的密码？'],
  reset_password_text: [
    'Sessions that began with it end. You get a setup code, shown once, to set a new password. First verify that the person requested this.',
    '使用该密码登录的会话会结束。您将得到一个仅显示一次的设置码，供其设置新密码。请先核实确为其本人申请。',
  ],
  setup_code_for: ['Setup code for {name}', '{name} 的设置码'],
  setup_text: [
    'Give it only to the agent. It is shown only once and is valid until {time}. Sessions ended: {n}.',
    '请只告知其本人。仅显示这一次，有效期至 {time}。已结束会话：{n} 个。',
  ],
  no_agents: ['There are no agents yet.', '暂无坐席。'],
  handed_over: ['I have passed it on', '我已转交'],
  code_unkept: ['The setup code is still shown. It cannot be shown again once you leave.', '设置码仍在显示中，离开后将无法再次查看。'],
});

/** Shows agents. */
export function show(desk, place) {
  const once = h('div', { id: 'once', hidden: true });
  const load = (after) => desk.get(`/api/admin/agents?devices=true${after ? `&after=${encodeURIComponent(after)}` : ''}`);
  const list = listing({
    label: say('view_agents'), columns: columns(), load, empty: say('no_agents'), id: ({ employee_id }) => employee_id,
    detail: { label: say('manage'), of: called, content: (agent) => acts(desk, agent, once, () => list.reload()) },
  });
  const add = h('button', {
    class: 'button small main', id: 'add-agent', onclick: async () => (await addAgent(desk)) && list.reload(),
  }, say('add_agent'));
  desk.places.hold(say('code_unkept'), () => !once.hidden);
  place.append(once, panel(say('agents_title'), { id: 'agents', aside: add, lead: say('agents_lead') }, list));
}

const columns = () => [
  { title: say('person'), cell: named },
  { title: say('record_role'), cell: ({ role }) => (role ? h('span', { class: 'tag' }, sayOr(role)) : '–') },
  { title: say('state'), cell: (agent) => h('div', {}, states(agent)) },
  { title: say('verified'), cell: ({ device_verified_at }) => moment(device_verified_at) },
];

const isShut = ({ locked, shut_until }) => locked || Boolean(shut_until);

/** Everything that keeps an agent from signing in without the platform, or another person from using their authenticator. */
function states(agent) {
  const tag = (kind, ...text) => h('span', { class: `tag ${kind}` }, text);
  const [before, after] = say('state_shut', { time: '\n' }).split('\n');
  const all = [
    (agent.disabled || agent.employee_disabled) && tag('bad', say('state_disabled')),
    agent.locked && tag('bad', say('state_locked')),
    !agent.locked && agent.shut_until && tag('bad', before, moment(agent.shut_until), after),
    !agent.agent && tag('', say('state_no_agent')),
    agent.agent && !agent.has_password && tag('warm', say('state_no_password')),
    !agent.has_device && tag('warm', say('state_no_device')),
    agent.has_device && !agent.device_proven && tag('warm', say('state_unproven')),
  ].filter(Boolean);
  return all.length ? all : tag('good', say('state_ready'));
}

function acts(desk, agent, once, reload) {
  const button = (act, run, text = say(act.replace('-', '_'))) => h('button', {
    class: 'button small', 'data-act': act, onclick: async () => (await run()) && reload(),
  }, text);
  return h('div', { class: 'row' },
    isShut(agent) && button('unlock', () => simply(desk, agent, 'unlock', 'unlocked')),
    button('reset-otp', () => resetDevice(desk, agent, once), say(agent.has_device ? 'reset_otp' : 'device_code')),
    agent.agent && button('reset-password', () => resetPassword(desk, agent, once)));
}

function ask(desk, agent, act, danger, word = act.replace('-', '_')) {
  return desk.risky({
    method: 'POST', path: `/api/admin/agents/${pathPart(agent.employee_id)}/${act}`,
    title: say(`${word}_title`, { name: called(agent) }), text: say(`${word}_text`), action: say(word), danger,
  });
}

async function simply(desk, agent, act, done) {
  const answer = await ask(desk, agent, act, act !== 'unlock');
  if (answer) desk.say(say(done, { name: called(agent) }));
  return Boolean(answer);
}

async function resetPassword(desk, agent, once) {
  const answer = await ask(desk, agent, 'reset-password', true);
  if (answer) showCodeOnce(desk, agent, once, answer.data, say('setup_text', { time: '\n', n: answer.data.ended_sessions }));
  return Boolean(answer);
}

async function resetDevice(desk, agent, once) {
  const answer = await ask(desk, agent, 'reset-otp', agent.has_device, agent.has_device ? 'reset_otp' : 'device_code');
  if (!answer) return false;
  desk.say(say('reset_otp_done', { name: called(agent) }));
  showCodeOnce(desk, agent, once, answer.data, say('device_code_use', { time: '\n' }));
  return true;
}

/** The code is stored nowhere else: it stays until the user confirms that they have it. */
function showCodeOnce(desk, agent, once, { setup_code, expires_at }, lead) {
  const title = say('setup_code_for', { name: called(agent) });
  const text = lead.split('\n');
  const done = h('button', {
    class: 'button small', 'data-act': 'handed-over',
    onclick: () => {
      fill(once).hidden = true;
      document.getElementById('add-agent').focus();
    },
  }, say('handed_over'));
  const code = h('code', { class: 'secret-once', id: 'setup-code', tabindex: '-1' }, setup_code);
  const take = h('button', { class: 'button small main', onclick: () => copy(desk, setup_code) }, say('copy'));
  const advice = h('p', { class: 'lead' }, text[0], moment(expires_at), text[1]);
  fill(once, panel(title, {}, code, advice, h('div', { class: 'row' }, take, done)));
  once.hidden = false;
  code.focus();
}

async function addAgent(desk) {
  const option = (role) => h('option', { value: role, selected: role === 'agent' }, sayOr(role));
  const roles = h('select', { name: 'role' }, ROLES.map(option));
  const id = { name: 'employee_id', required: true, maxlength: '64', autocapitalize: 'none', spellcheck: 'false' };
  const answer = await desk.risky({
    method: 'POST', path: '/api/admin/agents', body: ({ employee_id, role }) => ({ employee_id: employee_id.trim(), role }),
    title: say('add_title'), text: say('add_text'), action: say('add_agent'),
    fields: [
      field(say('employee_id'), id),
      field(say('record_role'), { name: 'role' }, '', roles),
    ],
  });
  if (answer) desk.say(say('added_agent'));
  return Boolean(answer);
}
