// Role rules: the departments and tags of the platform whose members hold a role. They are tried before they apply.

import './admin-words.js';
import { field, problems } from '../components/dialog.js';
import { $, fill, h } from '../lib/dom.js';
import { panel, refused } from '../components/listing.js';
import { ROLES } from './person.js';
import { learn, say, sayOr } from '../lib/words.js';
import { outcome } from './role-rule-trial.js';

learn({
  rules_title: ['Who gets which role', '角色规则列表'],
  rules_lead: [
    'The members of a department, with all departments below it, or of a tag hold the role for as long as they are members. Roles assigned by hand stay.',
    '部门（含所有下级部门）或标签的成员在其成员身份有效期间拥有该角色；手动分配的角色不受影响。',
  ],
  rules_none: ['There are no rules yet.', '暂无规则。'],
  rule_group: ['Department or tag', '部门或标签'],
  rule_departments: ['Departments', '部门'],
  rule_tags: ['Tags', '标签'],
  rule_department: ['department', '部门'],
  rule_tag: ['tag', '标签'],
  rule_other: ['By its ID', '按编号'],
  rule_other_department: ['A department, by its ID', '部门（输入编号）'],
  rule_other_tag: ['A tag, by its ID', '标签（输入编号）'],
  rule_id: ['ID in {platform.en}', '在{platform.zh}中的编号'],
  rule_unknown: ['not known here', '本系统未知'],
  rule_from_file: ['settings file', '配置文件'],
  rule_new: ['new', '新增'],
  rule_add: ['Add the rule', '添加规则'],
  rule_remove: ['Remove', '移除'],
  rule_remove_of: ['Remove: {rule}', '移除：{rule}'],
  rule_exists: ['There is such a rule already.', '该规则已存在。'],
  rule_full: ['{role}: {group}', '{role}：{group}'],
  rules_unsynced: [
    'Synchronise first: deskpass sync. Until then, departments and tags are named by their IDs, and a test finds nobody.',
    '请先同步：deskpass sync。在此之前只能输入部门和标签的编号，试运行也不会找到任何人。',
  ],
  rules_try: ['Test these rules', '试运行规则'],
  rules_try_first: ['Nothing changes until you have tested and saved the rules.', '试运行并保存规则之前，不会有任何更改。'],
  rules_discarded: ['Your changes to the rules are discarded.', '已放弃对规则的修改。'],
  rules_unsaved: ['Your changes to the role rules are not saved and will be lost.', '角色规则的修改尚未保存，离开后将丢失。'],
  rules_save: ['Save the rules', '保存规则'],
  rules_save_text: [
    'They take effect immediately. People who gain a role: {gain}. People who lose a role: {lose}.',
    '立即生效。获得角色：{gain} 人；失去角色：{lose} 人。',
  ],
  rules_saved: ['Saved. People whose roles changed: {count}.', '已保存，{count} 人的角色已变更。'],
});

const PATH = '/api/admin/role-rules';
const OTHERS = ['department', 'tag'];

/** Shows the rules. */
export function show(desk, place) {
  const body = h('div', { class: 'stack' }, h('p', { class: 'lead' }, say('reading')));
  place.append(body);
  const view = { desk, body, known: null, rules: [] };
  desk.places.hold(say('rules_unsaved'), () => isDirty(view));
  load(view);
}

async function load(view) {
  const answer = await view.desk.get(PATH);
  if (!view.body.isConnected) return;
  if (answer.code !== 0) fill(view.body, refused(answer, () => load(view)));
  else draw(view, answer.data);
}

const keyOf = ({ role, department, tag }) => JSON.stringify([role, department || null, tag || null]);
const keysOf = (rules) => rules.map(keyOf).sort().join();
const registered = ({ rules }) => rules.filter(({ from_file }) => !from_file);

/** Whether the rules on the page differ from those in effect. */
const isDirty = ({ known, rules }) => Boolean(known) && keysOf(rules) !== keysOf(registered(known));

/** The rules as the service takes them. */
const proposed = ({ rules }) => ({ rules: rules.map(({ role, department, tag }) => (department ? { role, department } : { role, tag })) });

function draw(view, known) {
  Object.assign(view, { known, rules: registered(known) });
  view.list = h('ul', { class: 'rules', id: 'rules' });
  view.trial = h('div', { id: 'trial' });
  view.discard = h('button', { class: 'button small', id: 'discard', onclick: () => discard(view) }, say('discard'));
  view.attempt = h('button', { class: 'button small main', id: 'try', onclick: () => attempt(view) }, say('rules_try'));
  fill(view.body,
    panel(say('rules_title'), { id: 'role-rules', lead: say('rules_lead') },
      view.list, addForm(view), h('div', { class: 'row' }, view.attempt, view.discard)),
    view.trial);
  touched(view);
}

/** Draws the rules, and drops the result of the dry run, which no longer matches them. */
function touched(view) {
  const all = [...view.known.rules.filter(({ from_file }) => from_file), ...view.rules];
  fill(view.list, all.map((rule) => row(view, rule)), !all.length && h('li', { class: 'lead' }, say('rules_none')));
  view.discard.hidden = !isDirty(view);
  fill(view.trial, h('p', { class: 'hint' }, say('rules_try_first')));
}

/** The name of a department with those above it, from the top. */
function departmentPath({ departments }, id) {
  const byId = new Map(departments.map((one) => [one.id, one]));
  const names = [];
  for (let at = byId.get(id); at && names.length < departments.length; at = byId.get(at.parent)) names.unshift(at.name || at.id);
  return names.join(' / ');
}

/** The name of a rule's group; empty where the platform has no such group. */
function groupName(known, { department, tag }) {
  if (department) return departmentPath(known, department);
  return (known.tags.find(({ id }) => id === tag) || { name: '' }).name;
}

function row(view, rule) {
  const { role, department, tag, from_file } = rule;
  const name = groupName(view.known, rule);
  const kind = say(department ? 'rule_department' : 'rule_tag');
  const isNew = !from_file && !view.known.rules.some((known) => keyOf(known) === keyOf(rule));
  const remove = () => {
    view.rules = view.rules.filter((one) => one !== rule);
    touched(view);
    view.attempt.focus();
  };
  const label = say('rule_remove_of', { rule: say('rule_full', { role: sayOr(role), group: name || department || tag }) });
  return h('li', { 'data-rule': `${role} ${department ? 'department' : 'tag'} ${department || tag}` },
    h('div', {}, h('strong', { dir: 'auto' }, name || department || tag), h('small', {}, `${kind} ${department || tag}`)),
    h('div', { class: 'what' },
      h('span', { class: 'tag' }, sayOr(role)),
      !name && h('span', { class: 'tag warm' }, say('rule_unknown')),
      isNew && h('span', { class: 'tag good' }, say('rule_new')),
      from_file ? h('span', { class: 'tag' }, say('rule_from_file'))
        : h('button', { class: 'button small', type: 'button', 'data-act': 'remove', 'aria-label': label, onclick: remove }, say('rule_remove'))));
}

/** The form for another rule: a known group, or one by its ID. */
function addForm(view) {
  const { departments, tags } = view.known;
  const option = (value, text) => h('option', { value }, text);
  const named = departments.map(({ id }) => [id, departmentPath(view.known, id)]).sort(([, one], [, other]) => one.localeCompare(other));
  const group = h('select', { name: 'group' },
    named.length > 0 && h('optgroup', { label: say('rule_departments') }, named.map(([id, name]) => option(`department ${id}`, `${name} (${id})`))),
    tags.length > 0 && h('optgroup', { label: say('rule_tags') }, tags.map(({ id, name }) => option(`tag ${id}`, `${name} (${id})`))),
    h('optgroup', { label: say('rule_other') }, OTHERS.map((kind) => option(kind, say(`rule_other_${kind}`)))));
  const id = field(say('rule_id'), { name: 'group_id', maxlength: '64', pattern: '\\S+', autocapitalize: 'none', autocomplete: 'off', spellcheck: 'false' });
  const role = h('select', { name: 'role' }, ROLES.map((name) => option(name, sayOr(name))));
  role.value = 'agent';
  const wrong = h('p', { class: 'refusal', role: 'alert', hidden: true });
  const form = h('form', { id: 'add-rule', class: 'row', autocomplete: 'off' },
    field(say('rule_group'), { name: 'group' }, '', group), id, field(say('role_held'), { name: 'role' }, '', role),
    h('button', { class: 'button small', type: 'submit' }, say('rule_add')));
  const look = () => {
    id.hidden = !OTHERS.includes(group.value);
    form.elements.group_id.required = !id.hidden;
    form.elements.group_id.disabled = id.hidden;
  };
  group.onchange = look;
  look();
  form.onsubmit = (event) => {
    event.preventDefault();
    const [kind, given] = group.value.split(' ');
    const rule = { role: role.value, [kind]: given || form.elements.group_id.value.trim(), from_file: false };
    const isKnown = [...view.known.rules.filter(({ from_file }) => from_file), ...view.rules].some((one) => keyOf(one) === keyOf(rule));
    wrong.hidden = !isKnown;
    wrong.textContent = isKnown ? say('rule_exists') : '';
    if (isKnown) return;
    view.rules = [...view.rules, rule];
    form.elements.group_id.value = '';
    touched(view);
  };
  return [form, wrong, !view.known.synchronised && h('p', { class: 'hint' }, say('rules_unsynced'))];
}

function discard(view) {
  draw(view, view.known);
  view.attempt.focus();
  view.desk.say(say('rules_discarded'));
}

async function attempt(view) {
  const rules = proposed(view);
  view.attempt.disabled = true;
  const [tried, now] = await Promise.all([view.desk.post(`${PATH}/dry-run`, rules), view.desk.get(PATH)]);
  view.attempt.disabled = false;
  // The rules were edited while the request was running: the response no longer matches them.
  if (!view.attempt.isConnected || JSON.stringify(rules) !== JSON.stringify(proposed(view))) return;
  if (tried.code !== 0) {
    fill(view.trial, h('p', { class: 'refusal', role: 'alert' }, problems(tried)));
    return;
  }
  const elsewhere = now.code === 0 && keysOf(registered(now.data)) !== keysOf(registered(view.known));
  fill(view.trial, outcome(view.desk, tried.data.items, {
    elsewhere, reload: () => load(view), unchanged: !isDirty(view), save: () => save(view, rules, tried.data.items),
  }));
  $('trial-title').focus({ preventScroll: true });
  $('outcome').scrollIntoView({ block: 'nearest' });
}

async function save(view, rules, items) {
  const count = (list) => items.filter((one) => one[list].length > 0).length;
  const [gain, lose] = [count('gained'), count('lost')];
  const danger = lose > 0 || items.some(({ gained }) => gained.includes('admin'));
  const done = await view.desk.risky({
    method: 'PUT', path: PATH, body: rules, title: say('rules_save'), text: say('rules_save_text', { gain, lose }), action: say('rules_save'), danger,
  });
  if (!done) return;
  const changed = done.data.items.filter(({ gained, lost }) => gained.length + lost.length > 0);
  // In effect, though not read again yet: leaving now loses nothing.
  view.known = { ...view.known, rules: [...view.known.rules.filter(({ from_file }) => from_file), ...view.rules] };
  view.desk.say(say('rules_saved', { count: changed.length }));
  load(view);
}
