// The health of the service's dependencies, its meaning for users, and what to do about failures.

import { fill, h } from '../lib/dom.js';
import { panel } from '../components/listing.js';
import { watching } from '../components/watching.js';
import { language, learn, say, sayOr } from '../lib/words.js';

learn({
  health: ['Health', '运行状况'],
  health_store: ['Data store', '数据存储'],
  health_store_ok: ['Working', '正常'],
  health_store_ok_means: ['Stores people, sessions and the audit log.', '保存人员、会话和审计日志。'],
  health_store_unavailable: ['Cannot be reached', '无法访问'],
  health_store_unavailable_means: [
    'No one can sign in, and sessions cannot be checked. Run `deskpass doctor` on the server.',
    '无法登录，也无法校验会话。请在服务器上运行 `deskpass doctor`。',
  ],
  health_shared: ['Shared store', '共享存储'],
  health_shared_ok: ['Working', '正常'],
  health_shared_ok_means: ['Stores QR codes and rate limits for all nodes.', '保存各节点共享的二维码和频率限制。'],
  health_shared_unavailable: ['Cannot be reached', '无法访问'],
  health_shared_unavailable_means: [
    'New sign-ins fail; signed-in users are not affected. Run `deskpass doctor` on the server.',
    '暂时无法登录，已登录的用户不受影响。请在服务器上运行 `deskpass doctor`。',
  ],
  health_platform: ['{platform.en}', '{platform.zh}'],
  health_platform_ok: ['Working', '正常'],
  health_platform_ok_means: ['Responds; sign-in works.', '响应正常，可以登录。'],
  health_platform_unknown: ['Not called yet', '尚未调用'],
  health_platform_unknown_means: ['The state is known after the first sign-in.', '首次登录后即可得知。'],
  health_platform_refused: ['Refuses sign-ins', '拒绝登录'],
  health_platform_refused_means: [
    'A setting in {platform.en} must be corrected before anyone can sign in. Run `deskpass doctor` to see which.',
    '需要先修正{platform.zh}后台的设置才能登录，请运行 `deskpass doctor` 查看原因。',
  ],
  health_platform_suspended: ['Paused', '暂停调用'],
  health_platform_suspended_means: [
    '{platform.en} refused requests, for example because of a wrong secret or a rate limit. Calls are paused, because repeating them would make it worse. Run `deskpass doctor` on the server.',
    '{platform.zh}拒绝了请求（例如 Secret 错误或超出频率限制），为避免情况恶化，已暂停调用。请在服务器上运行 `deskpass doctor`。',
  ],
  health_platform_unreachable: ['Cannot be reached', '无法连接'],
  health_platform_unreachable_means: [
    'Sign-in with {platform.en} fails; agents can sign in with a password. If this continues, run `deskpass doctor` on the server.',
    '暂时无法通过{platform.zh}登录，坐席可使用密码登录。如持续出现，请在服务器上运行 `deskpass doctor`。',
  ],
  health_draining: [
    'This node is shutting down: it completes requests in progress and accepts no new ones.',
    '此节点正在停止：会完成已有请求，不再接受新的请求。',
  ],
  health_clock_differs: [
    'The clock of this node and that of the database differ by more than 30 seconds, so load balancers send no requests to it. Synchronise both with NTP.',
    '此节点的时钟与数据库的时钟相差超过 30 秒，负载均衡不再向它转发请求。请用 NTP 为两者校时。',
  ],
  health_dev: [
    'Development mode: anyone who can reach this address can sign in as anyone. Never use it in production.',
    '开发模式：任何能访问此地址的人都可以冒用任何人登录，请勿用于生产环境。',
  ],
  health_checked: ['Checked at {time}', '检查时间 {time}'],
});

const PARTS = ['store', 'shared', 'platform'];
const EVERY = 15000;
const QUIET = ['ok', 'unknown'];

/** A panel that is refreshed regularly while it is visible. Returns the panel, and a function that stops it. */
export function healthPanel(desk) {
  const [place, version, checked] = [h('div', { role: 'status' }), h('span'), h('span')];
  const aside = h('p', { class: 'lead small' }, version, ' ', checked);
  const element = panel(say('health'), { id: 'health', aside }, place);
  const look = async () => {
    const answer = await desk.get('/api/ready');
    const shown = JSON.stringify(answer.data || answer.message);
    // Screen readers announce only changes.
    if (place.dataset.shown !== shown) fill(place, drawn(answer));
    place.dataset.shown = shown;
    fill(checked, say('health_checked', { time: new Date().toLocaleTimeString(language) }));
  };
  desk.get('/api/version').then(({ code, data }) => code === 0 && fill(version, `${data.name} ${data.version} ·`));
  return { element, stop: watching(EVERY, look) };
}

const drawn = ({ data, message }) =>
  (data && data.dependencies ? [warnings(data), parts(data.dependencies)] : warning('bad', message));

const warning = (kind, text) => h('p', { class: kind === 'bad' ? 'refusal' : 'warning' }, text);

const warnings = ({ draining, mode, dependencies }) => [
  draining && warning('warm', say('health_draining')),
  dependencies.clock === 'differs' && warning('bad', say('health_clock_differs')),
  mode === 'development' && warning('warm', say('health_dev')),
];

function parts(states) {
  const part = (name) => {
    const state = states[name];
    const key = `health_${name}_${state}`;
    const known = sayOr(key) !== key;
    return h('li', { 'data-part': name, 'data-state': state },
      h('h3', {}, say(`health_${name}`)),
      h('p', { class: 'state-word' }, mark(state), known ? say(key) : state),
      known && h('p', { class: 'lead' }, withCode(say(`${key}_means`))));
  };
  return h('ul', { class: 'health' }, PARTS.filter((name) => states[name]).map(part));
}

/** A shape as well as a colour. */
const mark = (state) => h('span', { class: `mark-${QUIET.includes(state) ? state : 'bad'}`, 'aria-hidden': 'true' },
  { ok: '✓', unknown: '?' }[state] || '!');

/** Shows text between backticks as code. */
const withCode = (text) => text.split('`').map((piece, at) => (at % 2 ? h('code', {}, piece) : piece));
