// The steps that sign-ins reached, over time: bars whose darker parts reached further, with figures in words and as a table.

import { fill, h, svg } from '../lib/dom.js';
import { language, learn, say } from '../lib/words.js';

learn({
  chart_label: ['Sign-ins by QR code over time. The arrow keys go from bar to bar.', '扫码登录趋势图，可用方向键逐条查看。'],
  chart_table: ['As a table', '以表格查看'],
  chart_when: ['Time', '时间'],
  qr_shown: ['Code shown', '展示二维码'],
  qr_scanned: ['Scanned', '已扫码'],
  qr_confirmed: ['Confirmed', '已确认'],
  qr_collected: ['Browser signed in', '浏览器已登录'],
  sign_ins: ['Sign-ins, all methods', '登录总数'],
  refused: ['Refused', '被拒绝'],
});

/** The steps of a sign-in by QR code, in order. */
export const STEPS = ['qr_shown', 'qr_scanned', 'qr_confirmed', 'qr_collected'];
/** All figures that are counted. */
export const FIGURES = [...STEPS, 'sign_ins', 'refused'];

const [HEIGHT, TOP, LEFT, RIGHT, BOTTOM] = [200, 8, 40, 14, 26];
const LABEL_WIDTH = 46;

/** The round number at the end of a scale. */
function scale(most) {
  const step = [1, 2, 5].flatMap((by) => [0, 1, 2, 3, 4, 5, 6, 7].map((power) => by * 10 ** power)).sort((a, b) => a - b)
    .find((by) => by * 4 >= most) || most;
  const ticks = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: ticks + 1 }, (_, at) => at * step);
}

/** A number in the format of the language. */
export const number = (value) => value.toLocaleString(language);

/** An empty chart: `draw(buckets)` fills it, each bucket is `{label, title, values}`; `stop()` removes its listeners. */
export function chart() {
  const place = h('div', { class: 'chart', tabindex: '0', role: 'group', 'aria-label': say('chart_label') });
  const reading = h('p', { class: 'lead reading', role: 'status', id: 'chart-reading' });
  const rows = h('tbody');
  const table = h('details', { class: 'figures', id: 'chart-table' }, h('summary', {}, say('chart_table')), tableOf(rows));
  const now = { buckets: [], at: -1 };
  const redraw = () => place.clientWidth && fill(place, picture(now, place.clientWidth, pick));
  const pick = (at) => {
    now.at = Math.min(Math.max(at, 0), now.buckets.length - 1);
    fill(reading, inWords(now.buckets[now.at]));
    place.querySelectorAll('.bucket').forEach((bucket, here) => bucket.classList.toggle('picked', here === now.at));
  };
  place.onkeydown = (event) => walk(event, now, pick);
  const draw = (buckets) => {
    now.at = buckets.length === now.buckets.length ? now.at : latest(buckets);
    now.buckets = buckets;
    redraw();
    pick(now.at);
    fill(rows, buckets.filter(happened).reverse().map(tableRow));
  };
  const watch = new ResizeObserver(redraw);
  watch.observe(place);
  return { element: h('div', {}, legend(), place, reading, table), draw, stop: () => watch.disconnect() };
}

/** What the shades of a bar mean; the names are also in the figures below. */
const legend = () => h('ul', { class: 'legend', 'aria-hidden': 'true' }, STEPS.map((name, step) =>
  h('li', {}, svg('svg', { width: 14, height: 14 }, svg('rect', { class: `step-${step}`, x: 1, y: 1, width: 12, height: 12, rx: 3 })), say(name))));

function walk(event, { at, buckets }, pick) {
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buckets.length - 1 }[event.key];
  if (to === undefined || !buckets.length) return;
  event.preventDefault();
  pick(to);
}

const happened = ({ values }) => FIGURES.some((name) => values[name]);

/** The last bucket with any events. */
function latest(buckets) {
  const at = buckets.findLastIndex(happened);
  return at < 0 ? buckets.length - 1 : at;
}

const inWords = ({ title, values }) => [h('strong', {}, title), ' ',
  FIGURES.map((name) => h('span', {}, `${say(name)} `, h('b', {}, number(values[name]))))];

function picture({ buckets, at }, width, pick) {
  const ticks = scale(Math.max(1, ...buckets.flatMap(({ values }) => STEPS.map((name) => values[name]))));
  const [top] = ticks.slice(-1);
  const high = HEIGHT - TOP - BOTTOM;
  const y = (value) => TOP + high * (1 - value / top);
  const each = (width - LEFT - RIGHT) / buckets.length;
  const stride = Math.ceil(LABEL_WIDTH / each);
  const bar = Math.max(3, Math.min(34, each * 0.7));
  const bucket = ({ label, values }, here) => {
    const x = LEFT + each * here;
    // Counted back from the last one, which always has its label.
    const shown = (buckets.length - 1 - here) % stride === 0;
    const part = (name, step) => {
      const from = y(values[name]);
      const height = TOP + high - from;
      return svg('rect', { class: `step-${step}`, x: x + (each - bar) / 2, y: from, width: bar, height, rx: 2 });
    };
    const picked = () => pick(here);
    return svg('g', { class: here === at ? 'bucket picked' : 'bucket', onpointerenter: picked, onclick: picked },
      svg('rect', { class: 'band', x, y: TOP, width: each, height: high + 2 }),
      STEPS.map((name, step) => values[name] > 0 && part(name, step)),
      shown && svg('text', { x: x + each / 2, y: HEIGHT - 7, 'text-anchor': 'middle' }, label));
  };
  return svg('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, 'aria-hidden': 'true' },
    ticks.map((tick) => [
      svg('line', { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      svg('text', { x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, number(tick)),
    ]),
    buckets.map(bucket));
}

function tableOf(rows) {
  const heads = ['chart_when', ...FIGURES].map((title) => h('th', { scope: 'col' }, say(title)));
  return h('div', { class: 'wide-table', tabindex: '0', role: 'region', 'aria-label': say('chart_table') },
    h('table', {}, h('thead', {}, h('tr', {}, heads)), rows));
}

const tableRow = ({ title, values }) =>
  h('tr', {}, h('th', { scope: 'row' }, title), FIGURES.map((name) => h('td', {}, number(values[name]))));
