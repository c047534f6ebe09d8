// The connected programs: OpenID Connect clients that sign people in here.

import { fill, h, hostOf } from '../lib/dom.js';
import { copy, listing, panel } from '../components/listing.js';
import './oidc-client-words.js';
import { openEditor } from './oidc-client-form.js';
import { entriesOf, provider, recipeOf } from './oidc-recipes.js';
import { say, sayOr } from '../lib/words.js';

const PATH = '/api/admin/oidc-clients';
const pathOf = ({ client_id }) => `${PATH}/${encodeURIComponent(client_id)}`;

/** Shows the programs. */
export function show(desk, place) {
  const [guide, editor] = [h('div', { id: 'oidc-guide' }), h('div', { id: 'oidc-editor' })];
  const view = { desk, guide, editor, isDirty: () => false };
  view.hold = () => desk.places.hold(say(isSecretShown(view) ? 'oidc_unkept' : 'oidc_unsaved'), () => isSecretShown(view) || view.isDirty());
  const add = h('button', { class: 'button small main', id: 'oidc-new', onclick: () => isFree(view) && connect(view) }, say('oidc_new'));
  const list = listing({
    label: say('oidc_clients'), empty: say('oidc_none'), load: () => desk.get(PATH), columns: columns(),
    id: ({ client_id }) => client_id,
    detail: { label: say('oidc_manage'), of: ({ name }) => name, content: (client) => details(view, client) },
  });
  Object.assign(view, { list, add });
  place.append(guide, editor, panel(say('oidc_clients'), { id: 'oidc-clients', aside: add, lead: say('oidc_clients_lead') }, list));
}

const isSecretShown = ({ guide }) => Boolean(guide.querySelector('#oidc-secret'));

/** Whether nothing would be lost by showing something else. */
function isFree(view) {
  if (isSecretShown(view)) view.desk.say(say('oidc_unkept'), true);
  return !isSecretShown(view);
}

const two = (first, second) => h('div', {}, first, second && h('small', {}, second));

const columns = () => [
  { title: say('oidc_program'), cell: ({ name, client_id }) => two(h('strong', { dir: 'auto' }, name), h('code', {}, client_id)) },
  { title: say('oidc_kind'), cell: ({ kind, redirect_uris }) => two(sayOr(`oidc_short_${kind}`), hosts(redirect_uris)) },
  { title: say('oidc_state'), cell: state },
  { title: say('oidc_ends'), cell: endings },
];

const hosts = (addresses) => [...new Set(addresses.map(hostIn).filter(Boolean))].join(say('comma'));

/** The host of an address that the user has perhaps not typed correctly. */
function hostIn(address) {
  try {
    return hostOf(address);
  } catch (_) {
    return '';
  }
}

const state = ({ disabled, from_file }) => h('div', {},
  h('span', { class: `tag ${disabled ? 'bad' : 'good'}`, 'data-state': disabled ? 'disabled' : 'enabled' }, say(disabled ? 'oidc_off' : 'oidc_on')),
  from_file && h('span', { class: 'tag' }, say('oidc_from_file')));

/** How a program learns that a session ended. */
function learning({ backchannel_logout_uri, scopes }) {
  if (backchannel_logout_uri) return 'oidc_hears';
  return scopes.includes('offline_access') ? 'oidc_finds_out' : 'oidc_keeps';
}

/** What came of the last attempt to tell a program. */
function outcome(status) {
  const clock = /^refused; its clock is (\d+) s (ahead|behind)$/.exec(status);
  return clock ? say(`oidc_clock_${clock[2]}`, { seconds: clock[1] }) : say(`oidc_${status}`);
}

function endings(client) {
  const { pending_logouts: count, last_logout_status: status } = client;
  const pending = count === 1 ? say('oidc_pending_one') : say('oidc_pending', { count });
  return h('div', {}, say(learning(client)),
    count > 0 && h('div', {}, h('span', { class: 'tag warm', 'data-pending': count }, pending)),
    count > 0 && status && h('small', {}, outcome(status)));
}

function details(view, client) {
  const line = (title, values) => values.length > 0 && h('div', {}, h('dt', {}, say(title)), h('dd', { class: 'mono' }, values.join('\n')));
  return h('div', { class: 'stack' },
    h('dl', { class: 'facts' },
      line('oidc_redirects', client.redirect_uris),
      line('oidc_after', client.post_logout_redirect_uris),
      line('oidc_backchannel', [client.backchannel_logout_uri].filter(Boolean)),
      line('oidc_roles', [client.roles.map(sayOr).join(say('comma'))].filter(Boolean)),
      line('oidc_scopes', [client.scopes.join(' ')])),
    client.from_file && h('p', { class: 'hint' }, say('oidc_file_only')),
    h('div', { class: 'row' }, actions(view, client)));
}

function actions(view, client) {
  const button = (act, run) => h('button', {
    class: 'button small', 'data-act': act, 'data-id': client.client_id, 'aria-label': `${say(`oidc_${act}`)}: ${client.name}`,
    onclick: () => isFree(view) && run(),
  }, say(`oidc_${act}`));
  const guide = button('guide', () => showGuide(view, client, { title: say('oidc_guide'), recipe: recipeOf(client) }));
  if (client.from_file) return [guide];
  return [
    button('edit', () => edit(view, client)),
    guide,
    client.kind === 'confidential' && button('rotate', () => rotate(view, client)),
    client.disabled
      ? button('enable', () => change(view, client, 'enable', 'oidc_enabled_now'))
      : button('disable', () => change(view, client, 'disable', 'oidc_disabled_now')),
    button('remove', () => remove(view, client)),
  ];
}

function connect(view) {
  openEditor(view, null, async (registration, recipe) => {
    const answer = await view.desk.risky({
      method: 'POST', path: PATH, body: registration, action: say('oidc_connect'),
      title: say('oidc_add_title', { name: registration.name }),
      text: say('oidc_add_text', { host: hosts(registration.redirect_uris) || registration.name }),
    });
    if (!answer) return false;
    showGuide(view, answer.data, { title: say('oidc_made', answer.data), recipe, secret: answer.data.client_secret || '' });
    view.list.reload();
    return true;
  });
}

function edit(view, client) {
  const { name } = client;
  openEditor(view, client, async (registration) => {
    const answer = await view.desk.risky({
      method: 'PUT', path: pathOf(client), body: registration, action: say('oidc_save'),
      title: say('oidc_save_title', { name }), text: say('oidc_save_text'),
    });
    if (!answer) return false;
    await view.list.reload();
    view.desk.say(say('oidc_saved', { name: registration.name }));
    return true;
  });
}

async function rotate(view, client) {
  const answer = await view.desk.risky({
    method: 'POST', path: `${pathOf(client)}/secret`, action: say('oidc_rotate_go'),
    title: say('oidc_rotate_title', client), text: say('oidc_rotate_text'),
    fields: [h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'now' }), say('oidc_rotate_now'))],
    body: ({ now }) => ({ now: Boolean(now) }),
  });
  if (!answer) return;
  showGuide(view, client, { title: say('oidc_new_secret', client), recipe: recipeOf(client), secret: answer.data.client_secret });
}

async function change(view, client, act, done) {
  const answer = await view.desk.risky({
    method: 'POST', path: `${pathOf(client)}/${act}`, danger: act === 'disable', action: say(`oidc_${act}`),
    title: say(`oidc_${act}_title`, client), text: say(`oidc_${act}_text`),
  });
  if (!answer) return;
  await view.list.reload();
  view.desk.say(say(done, client));
}

async function remove(view, client) {
  const answer = await view.desk.risky({
    method: 'DELETE', path: pathOf(client), danger: true, action: say('oidc_remove'),
    title: say('oidc_remove_title', client), text: say('oidc_remove_text'),
  });
  if (!answer) return;
  await view.list.reload();
  view.desk.say(say('oidc_removed', client));
  view.add.focus();
}

/** Shows what to enter in the program; a secret stays until the user confirms that it is stored. */
async function showGuide(view, client, { title, recipe, secret = '' }) {
  const { desk, guide } = view;
  const shown = secret || (client.kind === 'confidential' ? say('oidc_secret_known') : '');
  const entries = entriesOf(recipe, client, shown, await provider());
  if (!guide.isConnected) return;
  const close = () => {
    fill(guide);
    view.add.focus();
  };
  const heading = h('h2', { tabindex: '-1' }, title);
  const all = entries.map(([name, value]) => `${name} = ${value}`).join('\n');
  const button = (id, text, run, kind = '') => h('button', { class: `button small ${kind}`, id, onclick: run }, text);
  fill(guide, h('section', { class: 'panel', 'aria-label': title },
    heading,
    secret && [h('p', { class: 'warning' }, say('oidc_secret_once')), h('p', {}, h('code', { id: 'oidc-secret', class: 'secret-once' }, secret))],
    h('p', { class: 'lead' }, say('oidc_enter')),
    h('dl', { class: 'facts entries', id: 'oidc-entries' }, entries.map(([name, value]) =>
      h('div', {}, h('dt', {}, name), h('dd', { class: 'mono' }, value)))),
    h('div', { class: 'row' },
      secret && button('oidc-copy-secret', say('oidc_copy_secret'), () => copy(desk, secret), 'main'),
      button('oidc-copy', say('oidc_copy_all'), () => copy(desk, all)),
      button('oidc-close', say(secret ? 'oidc_kept' : 'oidc_close_guide'), close))));
  heading.focus();
  view.hold();
}
