// The login log: every sign-in, refusal and change.

import './admin-words.js';
import { h } from '../lib/dom.js';
import { exporter } from './export.js';
import { anyChoice, filters, typed } from './filters.js';
import { addressOf, exactMoment, listing, panel } from '../components/listing.js';
import { wordFor } from '../components/login-words.js';
import { EVENTS } from './audit-events.js';
import { METHODS, REASONS } from './log-words.js';
import { called, namedLink } from './person.js';
import { language, learn, say, sayOr } from '../lib/words.js';

learn({
  log_title: ['Entries, newest first', '日志（最新在前）'],
  event: ['Event', '事件'],
  reason: ['Reason', '原因'],
  method: ['Sign-in method', '登录方式'],
  address: ['Address', '地址'],
  from: ['From', '开始时间'],
  to: ['Before', '结束时间'],
  when: ['When', '时间'],
  who: ['Who', '人员'],
  where: ['Address', '来源'],
  details: ['Details', '详情'],
  unknown_person: ['unknown person', '未知人员'],
  by: ['by {actor}', '操作人：{actor}'],
  nothing_logged: ['No entries match.', '没有符合条件的记录。'],
  at_exactly: ['Exact time', '准确时间'],
  acted_by: ['Done by', '操作人'],
  in_words: ['More', '说明'],
  peer: ['Connection from', '连接地址'],
  own_decided_address: ['Address', '地址'],
  claimed_address: ['Address claimed by the request', '请求自称的地址'],
  unverified: ['failed verification', '校验失败'],
  unverified_text: ['This entry was changed, or was not written by the service. Ask an operator to run “deskpass audit verify”.', '该记录被修改过，或并非由本服务写入。请运维人员运行 “deskpass audit verify”。'],
  browser: ['Browser', '浏览器'],
  source: ['Signed in to', '登录入口'],
  company: ['Corporation', '企业'],
  entry: ['Entry', '记录编号'],
  reference: ['Reference', '参考编号'],
});

/** Shows the log. */
export function show(desk, place) {
  const options = (words, kind) => words.map((word) => [word, say(`${kind}_${word}`)]);
  const form = filters(desk, {
    corporations: true,
    fields: [
      typed('employee_id', say('employee_id'), { type: 'search', maxlength: '64' }),
      anyChoice('event', say('event'), options(EVENTS, 'event')),
    ],
    more: [
      typed('from', say('from'), { type: 'datetime-local' }),
      typed('to', say('to'), { type: 'datetime-local' }),
      anyChoice('reason', say('reason'), options(REASONS, 'reason')),
      anyChoice('method', say('method'), options(METHODS, 'method')),
      typed('reference', say('reference'), { type: 'search', maxlength: '8', pattern: '[0-9A-Fa-f]{8}', placeholder: '1a2b3c4d' }),
      typed('ip_address', say('address'), { type: 'search', maxlength: '45', placeholder: '198.51.100.7' }),
    ],
    changed: () => list.reload(true),
  });
  const load = (after) => readLog(desk, asked(form, after));
  const list = listing({
    label: say('view_log'), columns: columns(desk), load, empty: say('nothing_logged'), id: ({ id }) => id, detail: entryDetail(),
  });
  const files = exporter(desk, () => `/api/admin/login-log?${asked(form)}`);
  const again = h('button', { class: 'button small', 'data-act': 'reload', onclick: () => list.reload(true) }, say('refresh'));
  place.append(panel(say('log_title'), { id: 'log', aside: again }, form, files.element, list));
  return files.stop;
}

/** Reads a page of entries; their people get the names that they have now. */
export async function readLog(desk, query) {
  const answer = await desk.get(`/api/admin/login-log?${query}`);
  if (answer.code !== 0) return answer;
  const { items, people } = answer.data;
  const nameOf = ({ corp_id, employee_id }) =>
    people.find((one) => one.corp_id === corp_id && one.employee_id === employee_id)?.name || '';
  const actorOf = ({ actor }) => actor && { ...actor, name: nameOf(actor) };
  const rows = items.map((row) => ({ ...row, name: nameOf(row), actor: actorOf(row) }));
  return { ...answer, data: { ...answer.data, items: rows } };
}

/** The filters as a query: users choose local times; the service expects UTC. */
function asked(form, after) {
  const query = form.asked();
  for (const name of ['from', 'to']) {
    const at = new Date(query.get(name) || NaN);
    if (Number.isNaN(at.getTime())) query.delete(name);
    else query.set(name, at.toISOString());
  }
  // A reference that is still being typed is no filter yet.
  if ((query.get('reference') || '').length < 8) query.delete('reference');
  if (after) query.set('after', after);
  return query;
}

/** The details of a row, for a listing. */
export const entryDetail = () => ({
  label: say('details'), content: details, of: ({ event, employee_id }) => `${wordFor('event', event)} ${employee_id || ''}`,
});

const isBad = ({ event }) => event.endsWith('_refused') || event === 'sign_in_disowned';
const withCorp = (person) => [called(person), person.corp_id].filter(Boolean).join(' · ');

const columns = (desk) => {
  const [when, event, ...rest] = entryColumns();
  return [when, event, { title: say('who'), cell: (row) => whose(desk, row) }, ...rest];
};

/** The person that a row is about, and the one who acted where that is another. */
function whose(desk, { corp_id, employee_id, name, actor }) {
  const person = employee_id ? namedLink({ corp_id, employee_id, name }, desk) : say('unknown_person');
  return h('div', {}, person, actor && h('small', {}, say('by', { actor: called(actor) })));
}

/** The columns of entries, without their person. */
export const entryColumns = () => [
  { title: say('when'), class: 'when', cell: ({ at }) => exactMoment(at) },
  { title: say('event'), cell: (row) => h('div', {},
    h('span', { class: isBad(row) ? 'tag bad' : 'tag' }, wordFor('event', row.event)),
    row.reason && h('small', {}, wordFor('reason', row.reason)),
    row.verified === false && h('span', { class: 'tag bad unverified' }, say('unverified'))) },
  { title: say('where'), cell: (row) => h('div', {},
    addressOf(row) || '–',
    row.decided_address && row.decided_address !== row.ip_address && h('small', { class: 'claimed-address' }, say('claimed_as', { address: row.ip_address })),
    row.login_method && h('small', {}, wordFor('method', row.login_method))) },
];

/** All fields of a row, in words where there are some. */
function details(row) {
  const { at, actor, detail, current_role, login_source, ip_address, peer_address, user_agent, corp_id, id } = row;
  const pairs = [
    ['at_exactly', new Date(at).toLocaleString(language, { dateStyle: 'full', timeStyle: 'long' })],
    ['in_words', detail],
    ['acted_by', actor && withCorp(actor)],
    ['active_role', current_role && sayOr(current_role)],
    ['source', wordFor('source', login_source)],
    ['unverified', row.verified === false && say('unverified_text')],
    ['own_decided_address', row.decided_address && row.decided_address !== ip_address && row.decided_address],
    ['claimed_address', row.decided_address && row.decided_address !== ip_address && ip_address],
    ['peer', peer_address !== addressOf(row) && peer_address],
    ['browser', user_agent],
    ['company', corp_id],
    ['reference', row.reference && h('code', {}, row.reference)],
    ['entry', h('code', {}, id)],
  ];
  return h('dl', { class: 'facts' }, pairs.filter(([, value]) => value).map(([word, value]) =>
    h('div', {}, h('dt', {}, say(word)), h('dd', {}, value))));
}
