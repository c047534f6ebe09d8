// The overview: reports, health, and the number of sign-ins with the steps they reached.

import { chart, FIGURES, number, STEPS } from './chart.js';
import { fill, h, svg } from '../lib/dom.js';
import { healthPanel } from './health.js';
import { moment, panel, refused } from '../components/listing.js';
import { aboutPerson } from './person.js';
import { watching } from '../components/watching.js';
import { language, learn, say } from '../lib/words.js';

learn({
  reported_title: ['Sign-ins reported as “not me”', '有人报告了非本人登录'],
  reported_row: ['Signed in {time} from {address}', '{time} 从 {address} 登录'],
  reported_refused: ['Refused {time}, from {address}', '{time} 来自 {address} 的登录被拒绝'],
  reported_lead: [
    'Sessions that began with these sign-ins have ended. Check the audit log of these people, end their other sessions, and reset any password that was used.',
    '由这些登录产生的会话已结束。请查看这些人员的审计日志，结束其其他会话；如使用了密码，请重置密码。',
  ],
  see_log: ['View the audit log', '查看审计日志'],
  see_reports: ['All reports', '全部报告'],
  sign_ins_title: ['Sign-ins', '登录情况'],
  funnel_lead: ['QR code sign-ins, step by step', '扫码登录各步骤的完成情况'],
  of_shown: ['{percent} of codes shown', '占展示数的 {percent}'],
  all_ways: ['Sign-ins by all methods: {n}. Refused: {refused}.', '各种方式登录共 {n} 次，被拒绝 {refused} 次。'],
  range: ['Period', '时间范围'],
  range_24h: ['24 hours', '24 小时'],
  range_7d: ['7 days', '7 天'],
  range_30d: ['30 days', '30 天'],
  nothing_counted: ['There were no sign-ins in this period.', '此时间段内没有登录。'],
  over_time: ['Over time', '时间趋势'],
});

const HOUR = 3600000;
const MINUTE = 60000;
const REPORTED_FOR = 30 * 24 * HOUR;
const REPORTS = 5;
const RANGES = ['24h', '7d', '30d'];

/** Shows the overview. */
export function show(desk, place) {
  const health = healthPanel(desk);
  const counts = signInsPanel(desk);
  const reported = h('div', { hidden: true });
  place.append(reported, health.element, counts.element);
  const stop = watching(MINUTE, () => tellReported(desk, reported));
  return () => {
    stop();
    health.stop();
    counts.stop();
  };
}

/** Recent reports of users come before everything else. */
async function tellReported(desk, place) {
  const from = new Date(Date.now() - REPORTED_FOR).toISOString();
  const asked = new URLSearchParams({ event: 'sign_in_disowned', page_size: 50, from });
  const { code, data } = await desk.get(`/api/admin/login-log?${asked}`);
  const newest = code === 0 && data.items.length > 0 && data.items[0].id;
  // An unchanged list is not redrawn while the user may be pressing it.
  if (!newest || newest === place.dataset.newest) return;
  place.dataset.newest = newest;
  const row = (entry) => h('li', {},
    h('div', {}, h('strong', {}, entry.employee_id), ' ', moment(entry.at), h('small', {}, whichSignIn(entry.detail))),
    h('a', { class: 'link', href: aboutPerson('log', entry, desk) }, say('see_log')));
  const rows = h('ul', { class: 'reports' }, latestOfEach(data.items).slice(0, REPORTS).map(row));
  const all = h('a', { class: 'link', href: '#/log?event=sign_in_disowned' }, say('see_reports'));
  const alert = panel(say('reported_title'), { id: 'reported', lead: say('reported_lead'), aside: all }, rows);
  alert.classList.add('alert');
  alert.querySelector('h2').prepend(h('span', { class: 'mark-bad', 'aria-hidden': 'true' }, '!'));
  fill(place, alert).hidden = false;
}

/** One line for each person: frequent reports of one person must not hide the others. */
const latestOfEach = (items) =>
  items.filter((one, at) => items.findIndex(({ corp_id, employee_id }) => corp_id === one.corp_id && employee_id === one.employee_id) === at);

/** Parses the detail of the log entry, which is in English and in UTC. */
function whichSignIn(detail) {
  const [, refused, at, address] = /^(refused )?sign-in of (\S+) from (\S+)/.exec(detail) || [];
  return at ? say(refused ? 'reported_refused' : 'reported_row', { time: moment(at).textContent, address }) : detail;
}

function signInsPanel(desk) {
  const [funnel, trend, line] = [h('div', { id: 'funnel' }), chart(), h('div')];
  const part = (title, content) => h('div', {}, h('h3', {}, say(title)), content);
  const body = h('div', { class: 'counts' }, part('funnel_lead', funnel), part('over_time', trend.element));
  const run = { range: RANGES[0], at: 0, ahead: 0 };
  const draw = (buckets) => {
    fill(funnel, funnelOf(buckets));
    trend.draw(buckets);
  };
  const look = () => readCounts(desk, run, { line, body, draw, look });
  const choose = rangeButtons((range) => {
    run.range = range;
    look();
  });
  const unwatch = watching(MINUTE, look);
  const stop = () => {
    unwatch();
    trend.stop();
  };
  return { element: panel(say('sign_ins_title'), { id: 'sign-ins', aside: choose }, line, body), stop };
}

/** The query for the range; the default of the service is a week. */
const since = ({ range, ahead }) =>
  (range === '30d' ? `?from=${new Date(Date.now() + ahead - 30 * 24 * HOUR).toISOString()}` : '');

async function readCounts(desk, run, { line, body, draw, look }) {
  const mine = (run.at += 1);
  const answer = await desk.get(`/api/admin/statistics${since(run)}`);
  // Another range or another view was chosen meanwhile.
  if (mine !== run.at || !body.isConnected) return;
  body.hidden = answer.code !== 0;
  fill(line, answer.code !== 0 && refused(answer, look));
  if (answer.code !== 0) return;
  // The service's clock counts: the clock of this computer may be wrong.
  run.ahead = Date.parse(answer.data.to) - Date.now();
  const buckets = bucketsOf(run.range, new Date(Date.now() + run.ahead));
  count(buckets, answer.data.items);
  draw(buckets);
}

function rangeButtons(chosen) {
  const buttons = RANGES.map((range, at) => h('button', {
    'data-range': range, 'aria-pressed': String(at === 0),
    onclick: () => {
      buttons.forEach((button) => button.setAttribute('aria-pressed', String(button.dataset.range === range)));
      chosen(range);
    },
  }, say(`range_${range}`)));
  return h('div', { class: 'ranges', role: 'group', 'aria-label': say('range') }, buttons);
}

/** The hours or the days up to now, in local time, the oldest first. */
function bucketsOf(range, now) {
  const styles = {
    '24h': [{ hour: 'numeric' }, { weekday: 'short', hour: '2-digit', minute: '2-digit' }],
    '7d': [{ weekday: 'short' }, { weekday: 'short', month: 'short', day: 'numeric' }],
    '30d': [{ month: 'numeric', day: 'numeric' }, { weekday: 'short', month: 'short', day: 'numeric' }],
  };
  const [label, title] = styles[range];
  const length = { '24h': 24, '7d': 7, '30d': 30 }[range];
  const hour = Math.floor(now.getTime() / HOUR);
  const day = (back) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - back);
  const start = (back) => (range === '24h' ? new Date((hour - back) * HOUR) : day(back));
  return Array.from({ length }, (_, at) => start(length - 1 - at)).map((from) => ({
    from,
    values: Object.fromEntries(FIGURES.map((name) => [name, 0])),
    label: from.toLocaleString(language, label),
    title: from.toLocaleString(language, title),
  }));
}

/** Adds the figures of each hour to its bucket. */
function count(buckets, items) {
  for (const item of items) {
    const at = new Date(item.at);
    const home = buckets.findLast(({ from }) => from <= at);
    if (home) for (const name of Object.keys(home.values)) home.values[name] += item[name] || 0;
  }
}

function funnelOf(buckets) {
  const total = (name) => buckets.reduce((sum, { values }) => sum + values[name], 0);
  const most = Math.max(1, ...STEPS.map(total));
  const shown = total(STEPS[0]);
  const share = (name) => (total(name) / shown).toLocaleString(language, { style: 'percent', maximumFractionDigits: 0 });
  const step = (name, at) => h('li', { 'data-step': name },
    h('span', {}, say(name)), h('b', {}, number(total(name))),
    svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      svg('rect', { class: 'groove', width: 100, height: 10 }),
      svg('rect', { class: `step-${at}`, width: (100 * total(name)) / most, height: 10 })),
    at > 0 && shown > 0 && h('small', {}, say('of_shown', { percent: share(name) })));
  if (!FIGURES.some(total)) return h('p', { class: 'lead empty' }, say('nothing_counted'));
  return [
    h('ol', { class: 'funnel' }, STEPS.map(step)),
    h('p', { class: 'lead' }, say('all_ways', { n: number(total('sign_ins')), refused: number(total('refused')) })),
  ];
}
