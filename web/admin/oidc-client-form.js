// The form of a connected program: new, or with its registration.

import { field } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import './oidc-client-words.js';
import { filledIn, RECIPES } from './oidc-recipes.js';
import { ROLES } from './person.js';
import { say, sayOr } from '../lib/words.js';

const SCOPES = ['openid', 'profile', 'email', 'groups', 'offline_access'];
const AS_IT_IS = { autocapitalize: 'none', autocorrect: 'off', autocomplete: 'off', spellcheck: 'false' };
/** What a new program is registered with unless the user says otherwise; every field of a registration is here. */
const NEW = {
  name: '', kind: 'confidential', redirect_uris: [], post_logout_redirect_uris: [], backchannel_logout_uri: null, origins: [],
  scopes: SCOPES, roles: [], corporations: [], groups: {}, department_groups: false, role_claims: 'available', algorithm: 'RS256',
  pkce: 'required', sso: 'ask', id_token_claims: true,
};

/**
 * Opens the form in `view.editor`: for a new program, or with the registration of `client`. `save(registration, recipe)` resolves
 * to whether it is saved; then the form closes.
 */
export function openEditor(view, client, save) {
  const { editor } = view;
  const given = Object.fromEntries(Object.keys(NEW).map((name) => [name, (client || NEW)[name]]));
  const title = client ? say('oidc_edit_title', client) : say('oidc_new');
  const form = h('form', { id: 'oidc-form', class: 'stack', autocomplete: 'off' },
    !client && recipeFields(), mainFields(given), moreFields(given),
    h('div', { class: 'row' },
      h('button', { class: 'button small main', type: 'submit', id: 'oidc-save' }, say(client ? 'oidc_save' : 'oidc_connect')),
      h('button', { class: 'button small', type: 'button', id: 'oidc-discard', onclick: () => close() }, say('oidc_discard'))));
  const close = () => {
    fill(editor);
    view.add.focus();
  };
  const before = JSON.stringify(valuesOf(form));
  form.onsubmit = async (event) => {
    event.preventDefault();
    const recipe = form.elements.recipe ? form.elements.recipe.value : 'generic';
    if (await save(valuesOf(form), recipe)) fill(editor);
  };
  if (!client) followRecipe(form);
  const heading = h('h2', { tabindex: '-1' }, title);
  fill(editor, h('section', { class: 'panel', 'aria-label': title }, heading, form));
  heading.focus();
  heading.scrollIntoView({ block: 'nearest' });
  view.isDirty = () => form.isConnected && JSON.stringify(valuesOf(form)) !== before;
  view.hold();
}

function recipeFields() {
  const names = Object.entries(RECIPES).map(([name, { name: text }]) => [name, text || say('oidc_recipe_generic')]);
  return [
    choose('recipe', say('oidc_recipe'), names, 'generic'),
    field(say('oidc_url'), { name: 'url', type: 'url', maxlength: '1024', placeholder: 'https://', ...AS_IT_IS }, say('oidc_url_hint')),
  ];
}

/** The recipe and the address of the program fill the other fields in, as long as the user has not changed them. */
function followRecipe(form) {
  const { recipe, url } = form.elements;
  let last = { name: '', ...texts(filledIn('generic', '')) };
  const follow = () => {
    const next = { name: RECIPES[recipe.value].name, ...texts(filledIn(recipe.value, url.value)) };
    Object.entries(next).forEach(([name, text]) => {
      if (form.elements[name].value === last[name]) form.elements[name].value = text;
    });
    last = next;
    form.elements.scopes_offline_access.checked = Boolean(RECIPES[recipe.value].refreshes);
    form.elements.scopes_groups.checked = !RECIPES[recipe.value].withoutGroups;
  };
  recipe.addEventListener('change', follow);
  url.addEventListener('input', follow);
}

const texts = (part) => Object.fromEntries(Object.entries(part).map(([name, value]) => [name, [value].flat().join('\n')]));

const mainFields = (given) => [
  field(say('oidc_name'), { name: 'name', required: true, maxlength: '64', value: given.name }, say('oidc_name_hint')),
  choose('kind', say('oidc_kind'), ['confidential', 'public', 'native'].map((kind) => [kind, say(`oidc_kind_${kind}`)]), given.kind),
  lines('redirect_uris', say('oidc_redirects'), given.redirect_uris, say('oidc_redirects_hint'), true),
  lines('post_logout_redirect_uris', say('oidc_after'), given.post_logout_redirect_uris, say('oidc_after_hint')),
  field(say('oidc_backchannel'), {
    name: 'backchannel_logout_uri', type: 'url', maxlength: '2048', value: given.backchannel_logout_uri || '', ...AS_IT_IS,
  }, say('oidc_backchannel_hint')),
  checks('roles', say('oidc_roles'), ROLES.map((role) => [role, sayOr(role)]), given.roles, say('oidc_roles_hint')),
  choose('sso', say('oidc_sso'), ['ask', 'silent', 'off'].map((mode) => [mode, say(`oidc_sso_${mode}`)]), given.sso),
];

const moreFields = (given) => h('details', { class: 'seldom' }, h('summary', {}, say('oidc_more')), h('div', { class: 'stack' },
  checks('scopes', say('oidc_scopes'), SCOPES.map((scope) => [scope, scope]), given.scopes),
  choose('role_claims', say('oidc_role_claims'), ['available', 'active'].map((which) => [which, say(`oidc_claims_${which}`)]), given.role_claims),
  h('fieldset', {}, h('legend', { 'data-field': 'groups' }, say('oidc_groups')), h('p', { class: 'hint' }, say('oidc_groups_hint')),
    ROLES.map((role) => field(sayOr(role), { name: `group_${role}`, maxlength: '64', value: given.groups[role] || '', ...AS_IT_IS }))),
  check('department_groups', say('oidc_departments'), given.department_groups),
  check('id_token_claims', say('oidc_id_claims'), given.id_token_claims),
  choose('algorithm', say('oidc_algorithm'), [['RS256', 'RS256'], ['ES256', 'ES256']], given.algorithm),
  choose('pkce', say('oidc_pkce'), ['required', 'optional'].map((need) => [need, say(`oidc_pkce_${need}`)]), given.pkce),
  lines('corporations', say('oidc_corporations'), given.corporations, say('oidc_corporations_hint')),
  lines('origins', say('oidc_origins'), given.origins, say('oidc_origins_hint'))));

function choose(name, label, options, value) {
  const select = h('select', { name }, options.map(([word, text]) => h('option', { value: word, selected: word === value }, text)));
  return field(label, { name }, '', select);
}

function lines(name, label, values, hint, required = false) {
  const text = h('textarea', { name, class: 'mono', rows: Math.max(2, values.length + 1), required, ...AS_IT_IS });
  text.value = values.join('\n');
  return field(label, { name }, hint, text);
}

const check = (name, label, isOn) => h('label', { class: 'check' }, h('input', { type: 'checkbox', name, checked: isOn }), label);

const checks = (name, label, options, chosen, hint = '') =>
  h('fieldset', {}, h('legend', { 'data-field': name }, label), hint && h('p', { class: 'hint' }, hint),
    options.map(([word, text]) => check(`${name}_${word}`, text, chosen.includes(word))));

/** The registration that the form describes, with all of its fields. */
function valuesOf(form) {
  const { elements } = form;
  const text = (name) => elements[name].value.trim();
  const list = (name) => text(name).split('\n').map((line) => line.trim()).filter(Boolean);
  const chosen = (name, words) => words.filter((word) => elements[`${name}_${word}`].checked);
  const groups = ROLES.map((role) => [role, text(`group_${role}`)]).filter(([, group]) => group);
  return {
    name: text('name'), kind: text('kind'),
    redirect_uris: list('redirect_uris'), post_logout_redirect_uris: list('post_logout_redirect_uris'),
    backchannel_logout_uri: text('backchannel_logout_uri') || undefined,
    origins: list('origins'), scopes: chosen('scopes', SCOPES), roles: chosen('roles', ROLES), corporations: list('corporations'),
    groups: Object.fromEntries(groups), department_groups: elements.department_groups.checked,
    role_claims: text('role_claims'), algorithm: text('algorithm'), pkce: text('pkce'), sso: text('sso'),
    id_token_claims: elements.id_token_claims.checked,
  };
}
