// The verification of callers: the phone of the employee says whether it is them who are on the telephone.

import '../admin/admin-words.js';
import { refAside } from '../client/api.js';
import { field, problems } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { moment, panel } from '../components/listing.js';
import { bigNumber, clock, followQuestion } from '../factors/follow-question.js';
import { keepCallers, keptCallers } from './kept-callers.js';
import { learn, say } from '../lib/words.js';

learn({
  caller_ask_title: ['Who is calling?', '来电人是谁？'],
  caller_lead: [
    'Ask the phone of the employee: “Did you call IT?” They see your name, your department and the reason, and pick the number that you read out. Ask only when they called you.',
    '向该员工的手机询问：“是您本人致电 IT 的吗？”对方会看到您的姓名、部门和事由，并选择您口述的数字。仅在对方致电给您时使用。',
  ],
  caller_search: ['Name or employee ID', '姓名或{platform.zh}账号'],
  caller_search_hint: ['Beginning of a name or ID, or the complete ID', '姓名或账号的开头，或完整的账号'],
  caller_found: ['Select a person, or ask for the ID as you typed it.', '请选择人员，或直接使用输入的账号。'],
  caller_reason: ['Reason (optional)', '事由（选填）'],
  caller_reason_required: ['Reason', '事由'],
  caller_reason_missing: ['Say what the call is about: the employee must see what they agree to.', '请填写通话事由：该员工需要知道所同意的内容。'],
  caller_cannot_ask: [
    'This person cannot be asked on the phone. Check the employee ID, or verify them in another way: call back under a number that you know.',
    '无法向该人员的手机询问。请核对账号，或以其他方式核实身份：用您所知道的号码回拨。',
  ],
  caller_reason_hint: ['The employee sees it.', '该员工会看到此内容。'],
  caller_ask: ['Ask their phone', '向其手机确认'],
  callers: ['Questions in this session', '本次会话中的验证'],
  callers_none: ['You have not asked anyone yet.', '尚未验证过来电人。'],
  caller_read_out: ['Read this number out. The employee picks it on their phone.', '请口述此数字，由该员工在手机上选择。'],
  caller_pending: ['waiting for the phone', '等待手机确认'],
  caller_verified: ['verified', '已验证'],
  caller_refused: ['refused', '已拒绝'],
  caller_expired: ['expired', '已过期'],
  caller_pending_text: ['Do nothing for the caller yet.', '确认之前请勿为来电人办理任何事项。'],
  caller_verified_text: ['It is them: their phone picked the number that you read out.', '确为其本人：对方手机选择了您口述的数字。'],
  caller_refused_text: [
    'It is not them, or they picked another number. Help no further: the administrators were alerted.',
    '并非其本人，或选择了错误的数字。请停止办理，系统已通知管理员。',
  ],
  caller_expired_text: ['The phone did not answer in time. You know nothing about the caller. Ask again.', '手机未在规定时间内确认，无法判断来电人身份，请重新验证。'],
  caller_time_left: ['{time} left', '剩余 {time}'],
});

/** The roles that may search for employees. */
const SEARCHERS = ['admin', 'supervisor'];
const FEW = 6;
/** The pause in typing after which employees are searched for. */
const PAUSE = 300;
const TAGS = { pending: 'warm', verified: 'good', refused: 'bad', expired: '' };

/** Shows the view. The questions are kept for as long as the tab has the session, also over a reload. */
export function show(desk, place) {
  const asked = (desk.callers = desk.callers || keptCallers(desk.me));
  const keep = () => keepCallers(desk.me, asked);
  const list = h('ol', { class: 'callers', id: 'verifications' });
  const stops = [];
  const none = h('p', { class: 'lead', hidden: asked.length > 0 }, say('callers_none'));
  const add = (question) => list.prepend(item(desk, question, { stops, keep }));
  asked.forEach(add);
  const onAsked = (question) => {
    asked.push(question);
    keep();
    none.hidden = true;
    add(question);
    // The number is what the agent needs next; on a phone it is below the screen.
    list.firstElementChild.focus();
  };
  place.append(
    panel(say('caller_ask_title'), { id: 'ask-caller', lead: say('caller_lead') }, askForm(desk, onAsked)),
    panel(say('callers'), { id: 'asked-callers' }, none, list));
  return () => stops.forEach((stop) => stop());
}

function askForm(desk, onAsked) {
  const maySearch = SEARCHERS.includes(desk.me.current_role);
  const who = { name: 'employee_id', required: true, maxlength: '64', autocapitalize: 'none', autocomplete: 'off', spellcheck: 'false' };
  const reason = { name: 'reason', maxlength: '200', autocomplete: 'off' };
  const refused = h('p', { class: 'refusal', role: 'alert', hidden: true });
  const go = h('button', { class: 'button small main', type: 'submit' }, say('caller_ask'));
  const found = h('div', { class: 'found', role: 'status' });
  const form = h('form', { class: 'steps-form', id: 'caller-form' },
    field(say(maySearch ? 'caller_search' : 'employee_id'), who, maySearch ? say('caller_search_hint') : ''),
    maySearch && found, field(say('caller_reason'), reason, say('caller_reason_hint')), refused, go);
  const chosen = maySearch ? search(desk, form, found) : () => null;
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (go.disabled) return;
    const person = chosen() || { employee_id: form.elements.employee_id.value.trim(), name: '' };
    const about = form.elements.reason.value.trim();
    go.disabled = true;
    refused.hidden = true;
    const answer = await desk.post('/api/verifications', { employee_id: person.employee_id, ...(about && { reason: about }) });
    go.disabled = false;
    if (!form.isConnected) return;
    refused.hidden = answer.code === 0;
    if (answer.code !== 0) {
      showRefusal(form, refused, answer);
      return;
    }
    form.reset();
    fill(found);
    const { id, number, expires_in } = answer.data;
    onAsked({
      id, number, status: 'pending', reason: about, at: Date.now(), until: Date.now() + expires_in * 1000,
      employee_id: person.employee_id, name: person.name || person.employee_id,
    });
  };
  return form;
}

/** Says why nobody was asked, at the field that is wrong. */
function showRefusal(form, refused, answer) {
  const { reason, employee_id } = form.elements;
  const { fields, reason: why } = answer.data || {};
  if (fields && fields.reason && !reason.value.trim()) {
    // The service requires a reason, and will also next time.
    reason.required = true;
    form.querySelector('label[for=field-reason]').textContent = say('caller_reason_required');
    fill(refused, say('caller_reason_missing'));
    reason.focus();
    return;
  }
  fill(refused, why === 'cannot_ask' ? say('caller_cannot_ask') + refAside(answer) : problems(answer));
  (fields && fields.reason ? reason : employee_id).select();
}

/** Offers the employees that the text may mean; returns what tells the chosen one. */
function search(desk, form, found) {
  let [timer, at, chosen] = [0, 0, null];
  const input = form.elements.employee_id;
  const choose = (person) => {
    chosen = person;
    input.value = person.employee_id;
    fill(found, h('p', { class: 'hint' }, [person.name, person.department].filter(Boolean).join(' · ')));
    form.elements.reason.focus();
  };
  const option = (person) => h('li', {}, h('button', {
    class: 'plain', type: 'button', 'data-id': person.employee_id, onclick: () => choose(person),
  }, person.name || person.employee_id, h('small', {}, ` ${[person.name && person.employee_id, person.department].filter(Boolean).join(' · ')}`)));
  const look = async () => {
    const q = input.value.trim();
    const mine = (at += 1);
    if (!q) {
      fill(found);
      return;
    }
    const { code, data } = await desk.get(`/api/admin/employees?${new URLSearchParams({ q, page_size: FEW })}`);
    // The text was changed meanwhile, or the ID is chosen already.
    if (mine !== at || chosen || !input.isConnected) return;
    const people = code === 0 ? data.items.filter(({ corp_id }) => corp_id === desk.me.corp_id) : [];
    fill(found, people.length > 0 && [h('p', { class: 'hint' }, say('caller_found')), h('ul', {}, people.map(option))]);
  };
  input.oninput = ({ isComposing }) => {
    chosen = null;
    clearTimeout(timer);
    // An unfinished Chinese input is not a name yet.
    if (!isComposing) timer = setTimeout(look, PAUSE);
  };
  input.addEventListener('compositionend', () => {
    timer = setTimeout(look, PAUSE);
  });
  form.addEventListener('reset', () => {
    [chosen, at] = [null, at + 1];
  });
  return () => chosen;
}

/** A question in the list; as long as it is not answered, it is followed. */
function item(desk, question, { stops, keep }) {
  const { name, employee_id, reason, at, number, id } = question;
  const state = h('p', { class: 'state', role: 'status' });
  const open = h('div', { class: 'open' });
  const element = h('li', { 'data-id': employee_id, tabindex: '-1' },
    h('div', { class: 'head' }, h('strong', { dir: 'auto' }, name),
      h('small', {}, [name !== employee_id && `${employee_id} · `, moment(new Date(at).toISOString()), reason && ` · ${reason}`])),
    open, state);
  const tell = () => {
    element.dataset.status = question.status;
    const { status } = question;
    fill(state, h('span', { class: `tag ${TAGS[status] || ''}` }, say(`caller_${status}`)), ' ', say(`caller_${status}_text`));
    if (status !== 'pending') fill(open);
  };
  tell();
  if (question.status !== 'pending') return element;
  const left = h('p', { class: 'hint time-left' });
  const trouble = h('p', { class: 'warning', role: 'status', hidden: true });
  fill(open, h('p', {}, say('caller_read_out')), bigNumber(number), left, trouble);
  stops.push(followQuestion({
    until: question.until,
    read: () => desk.get(`/api/verifications/${encodeURIComponent(id)}`),
    isShown: () => element.isConnected,
    onTime: (seconds) => { left.textContent = say('caller_time_left', { time: clock(seconds) }); },
    onTrouble: (text) => {
      trouble.textContent = text;
      trouble.hidden = !text;
    },
    onAnswer: (status) => {
      question.status = TAGS[status] === undefined ? 'expired' : status;
      keep();
      tell();
    },
  }));
  return element;
}
