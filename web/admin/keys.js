// Service keys, with which other services authenticate.

import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { copy, listing, moment, panel } from '../components/listing.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  keys_made: ['Service keys', '密钥列表'],
  keys_lead: [
    'Other services authenticate with a key. A key permits only its scopes; keep it secret.',
    '其他服务使用密钥进行身份验证。密钥仅具有所选的权限范围，请妥善保管。',
  ],
  new_key: ['New key', '新建密钥'],
  key_name: ['Name', '名称'],
  key_name_hint: ['The service that uses the key.', '供哪个服务使用。'],
  key_uses: ['Scopes', '权限范围'],
  key_introspect: ['Introspect tokens', '查询令牌'],
  key_messages: ['Send messages', '推送消息'],
  key_days: ['Valid for (days)', '有效期（天）'],
  key_days_hint: ['1 to 3650.', '1 至 3650。'],
  make_key: ['Create key', '创建密钥'],
  make_key_text: [
    'The key is shown once. Have a place ready to store it, such as the settings of the service.',
    '密钥仅显示一次，请准备好保存位置，例如服务的配置。',
  ],
  key_made: ['Your new key', '新密钥'],
  key_once: [
    'This is “{name}”. It is shown only once: copy it and store it in the settings of the service.',
    '这是“{name}”的密钥，仅在此处显示一次。请复制并保存到服务的配置中。',
  ],
  key_kept: ['I have stored it', '我已保存'],
  key_unkept: ['The new key is still shown. It cannot be shown again once you leave.', '新密钥仍在显示中，离开后将无法再次查看。'],
  key_hidden: ['The key is no longer shown.', '密钥已不再显示。'],
  key_state: ['State', '状态'],
  state_active: ['active', '有效'],
  state_expired: ['expired', '已过期'],
  state_revoked: ['revoked', '已吊销'],
  expires_soon: ['expires in {days} days', '{days} 天后过期'],
  expires_tomorrow: ['expires within two days', '两天内过期'],
  made: ['Created', '创建'],
  by_operator: ['on the command line', '命令行'],
  expires: ['Expires', '有效期至'],
  revoked_on: ['revoked', '吊销于'],
  revoke: ['Revoke', '吊销'],
  revoke_named: ['Revoke {name}', '吊销 {name}'],
  revoke_title: ['Revoke “{name}”?', '吊销“{name}”？'],
  revoke_text: [
    'The service that uses it is refused within a second. This cannot be undone.',
    '使用该密钥的服务将在一秒内被拒绝，且无法撤销。',
  ],
  key_revoked: ['“{name}” is revoked.', '“{name}”已吊销。'],
  no_keys: ['There are no service keys yet.', '尚未创建服务密钥。'],
});

const PATH = '/api/admin/service-keys';
const USES = ['introspect', 'messages'];
const DAY = 86400000;
const SOON = 30;
const DAYS = { type: 'number', min: '1', max: '3650', value: '365' };

/** Shows the keys. */
export function show(desk, place) {
  const made = h('div', { id: 'made' });
  const add = h('button', { class: 'button small main', id: 'new-key', onclick: () => create(desk, made, list) }, say('new_key'));
  const list = listing({
    label: say('view_keys'), empty: say('no_keys'), load: () => desk.get(PATH),
    columns: columns((key) => revoke(desk, key, { list, add })),
  });
  place.append(made, panel(say('keys_made'), { id: 'keys', aside: add, lead: say('keys_lead') }, list));
  desk.places.hold(say('key_unkept'), () => made.children.length > 0);
}

const two = (first, second) => h('div', {}, first, second && h('small', {}, second));

const columns = (onRevoke) => [
  { title: say('key_name'), cell: ({ name, scopes }) => two(h('strong', {}, name), scopes.map(useWord).join(' · ')) },
  { title: say('key_state'), cell: state },
  {
    title: say('made'),
    cell: ({ created_at, created_by }) => two(moment(created_at), created_by ? created_by.employee_id : say('by_operator')),
  },
  {
    title: say('expires'),
    cell: ({ expires_at, revoked_at }) => two(moment(expires_at), revoked_at && [`${say('revoked_on')} `, moment(revoked_at)]),
  },
  {
    hidden: say('acts'), class: 'acts',
    cell: (key) => key.state === 'active' && h('button', {
      class: 'button small', 'data-act': 'revoke', 'data-id': key.id, 'aria-label': say('revoke_named', { name: key.name }),
      onclick: () => onRevoke(key),
    }, say('revoke')),
  },
];

const useWord = (use) => (USES.includes(use) ? say(`key_${use}`) : use);

function state({ state: word, expires_at }) {
  const shade = { active: 'good', expired: 'warm', revoked: 'bad' }[word] || '';
  const days = Math.floor((new Date(expires_at) - Date.now()) / DAY);
  const soon = word === 'active' && days < SOON;
  return h('div', {}, h('span', { class: `tag ${shade}`, 'data-state': word }, sayOr(`state_${word}`)),
    soon && h('span', { class: 'tag warm', 'data-soon': days }, say(days > 1 ? 'expires_soon' : 'expires_tomorrow', { days })));
}

async function create(desk, made, list) {
  const box = (name) => h('input', { type: 'checkbox', name, checked: name === USES[0] });
  const use = (name) => h('label', { class: 'check' }, box(name), useWord(name));
  const answer = await desk.risky({
    method: 'POST', path: PATH, title: say('new_key'), text: say('make_key_text'), action: say('make_key'),
    fields: [
      field(say('key_name'), { name: 'name', required: true, maxlength: '64' }, say('key_name_hint')),
      h('fieldset', {}, h('legend', { 'data-field': 'scopes' }, say('key_uses')), USES.map(use)),
      field(say('key_days'), { ...DAYS, name: 'expires_in_days', required: true }, say('key_days_hint')),
    ],
    body: (values) => ({
      name: values.name.trim(), scopes: USES.filter((name) => values[name]), expires_in_days: Number(values.expires_in_days),
    }),
  });
  if (!answer) return;
  showOnce(desk, made, answer.data);
  list.reload();
}

/** Shows the key until the user confirms that they have it. */
function showOnce(desk, made, { name, key }) {
  const title = h('h2', { tabindex: '-1' }, say('key_made'));
  const kept = () => {
    made.replaceChildren();
    desk.say(say('key_hidden'));
    document.getElementById('new-key').focus();
  };
  fill(made, h('section', { class: 'panel', id: 'made-key', 'aria-label': say('key_made') },
    title, h('p', { class: 'warning' }, say('key_once', { name })),
    h('p', {}, h('code', { id: 'key', class: 'secret-once' }, key)),
    h('div', { class: 'row' },
      h('button', { class: 'button small main', id: 'copy-key', onclick: () => copy(desk, key) }, say('copy')),
      h('button', { class: 'button small', id: 'key-kept', onclick: kept }, say('key_kept')))));
  title.focus();
}

async function revoke(desk, { id, name }, { list, add }) {
  const answer = await desk.risky({
    method: 'DELETE', path: `${PATH}/${encodeURIComponent(id)}`, danger: true,
    title: say('revoke_title', { name }), text: say('revoke_text'), action: say('revoke'),
  });
  if (!answer) return;
  desk.say(say('key_revoked', { name }));
  await list.reload();
  add.focus();
}
