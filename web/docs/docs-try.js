// Tries operations out in development mode. The token stays in the memory of this page, and requests go to this origin only.

import { get, headersOf, post } from '../client/api.js';
import { bodyOf, credentials, sampleBody, successes } from './docs-schema.js';
import { fill, h } from '../lib/dom.js';
import { say } from '../lib/words.js';

const TIMEOUT = 15000;
/** The most characters of a response that are shown. */
const MAX_SHOWN = 20000;

/** Fills the panel above the operations, and returns what makes the form of an operation. */
export function openTrial(all, place) {
  const token = h('input', {
    // Not a password: a browser would offer to keep it.
    id: 'trial-token', type: 'text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: 'dpa_…',
  });
  fill(place, h('section', { class: 'trial', 'aria-labelledby': 'trial-title' },
    h('h2', { id: 'trial-title' }, say('try_title')), h('p', { class: 'lead' }, say('try_lead')),
    signIn(token),
    h('div', { class: 'field' }, h('label', { for: 'trial-token' }, say('try_token')), token)));
  return (entry) => trial(all, entry, token);
}

/** A choice of the development users, to get a token. */
function signIn(token) {
  const users = h('select', { id: 'trial-user' });
  const outcome = h('p', { role: 'status', class: 'hint' });
  const go = h('button', { class: 'button', type: 'submit' }, say('try_sign_in'));
  const form = h('form', { class: 'row' },
    h('div', { class: 'field' }, h('label', { for: 'trial-user' }, say('try_user')), users), go, outcome);
  get('/api/dev/users').then(({ data }) => {
    const own = ((data && data.users) || []).filter(({ roles, disabled }) => roles.length && !disabled);
    fill(users, own.map(({ employee_id, roles }) => h('option', { value: employee_id }, `${employee_id} · ${roles.join(', ')}`)));
  });
  form.onsubmit = async (event) => {
    event.preventDefault();
    const answer = await post('/api/dev/login', { employee_id: users.value });
    if (answer.code === 0) token.value = answer.data.token;
    outcome.textContent = answer.code === 0 ? say('try_signed_in', { who: answer.data.employee_id }) : answer.message;
  };
  return form;
}

/** Whether a script can show the response: sockets, redirects and event streams it cannot. */
const canShow = (operation) => {
  const answers = successes(operation);
  return answers.length > 0 && answers.every(({ kind }) => kind !== 'text/event-stream');
};

/** The form of an operation. */
function trial(all, entry, token) {
  const { operation } = entry;
  if (!canShow(operation)) return [];
  const id = (name) => `${operation.operationId}-${name}`;
  const fields = operation.parameters.map(({ name, required, in: place }) => h('div', { class: 'field' },
    h('label', { for: id(name) }, h('code', {}, name), ' ', h('small', {}, say(required ? 'docs_required' : 'docs_optional'))),
    h('input', { id: id(name), name, 'data-in': place, autocomplete: 'off', spellcheck: 'false', required })));
  const body = bodyOf(operation);
  const written = body && h('textarea', { id: id('body'), name: 'body', spellcheck: 'false', rows: '6' });
  if (written) written.value = JSON.stringify(sampleBody(all, body), null, 2);
  const go = h('button', { class: 'button main', type: 'submit' }, say('try_send'));
  const outcome = h('div', { class: 'outcome', role: 'status' });
  const form = h('form', { class: 'try', autocomplete: 'off' }, fields,
    written && h('div', { class: 'field' }, h('label', { for: id('body') }, say('docs_body')), written), go);
  form.onsubmit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    fill(outcome, shown(await send(entry, form, token.value.trim()), token));
    go.disabled = false;
  };
  return [h('h3', {}, say('try_it')), form, outcome];
}

/** Sends the request that a form describes. */
async function send({ method, path, operation }, form, token) {
  const inputs = [...form.querySelectorAll('[data-in]')].filter(({ value }) => value.trim());
  const of = (place) => inputs.filter((input) => input.dataset.in === place).map(({ name, value }) => [name, value.trim()]);
  const target = of('path').reduce((all, [name, value]) => all.replace(`{${name}}`, encodeURIComponent(value)), path);
  const query = String(new URLSearchParams(of('query')));
  const body = form.elements.body && form.elements.body.value.trim();
  const bearer = credentials(operation).length ? token : '';
  const options = {
    method: method.toUpperCase(), cache: 'no-store', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT),
    headers: { ...headersOf({ body: body || undefined, token: bearer }), ...Object.fromEntries(of('header')) },
    ...(body ? { body } : {}),
  };
  try {
    const response = await fetch(target + (query && `?${query}`), options);
    return { status: `${response.status}`, text: await response.text() };
  } catch (_) {
    return { status: '', text: say('try_failed') };
  }
}

/** The response, and a way to go on with a token in it. */
function shown({ status, text }, token) {
  const parsed = parse(text);
  const pretty = parsed ? JSON.stringify(parsed, null, 2) : text;
  const found = parsed && parsed.data && parsed.data.token;
  const use = found && h('button', { class: 'button', type: 'button' }, say('try_use_token'));
  if (use) {
    use.onclick = () => {
      token.value = found;
      use.replaceWith(say('try_token_used'));
    };
  }
  return [
    status && h('p', {}, `HTTP ${status}`),
    h('pre', { tabindex: '0', 'aria-label': say('try_response') },
      pretty.length > MAX_SHOWN ? `${pretty.slice(0, MAX_SHOWN)}\n…` : pretty),
    use && h('p', {}, use),
  ];
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (_) {
    return null;
  }
}
