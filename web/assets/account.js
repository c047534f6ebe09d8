// Who is signed in, as what, and the way out.

import { get, post } from './api.js';
import { $, show, tell } from './page.js';
import { say, sayOr } from './words.js';

const NO_SESSION = 1001;

/** Shows whose token this is. `ended` is called with a word to the person when it is not good any more. */
export async function showAccount(token, ended) {
  const answer = await get('/api/auth/me', token);
  if (answer.code === NO_SESSION) {
    ended(say('ended'));
    return;
  }
  if (answer.code !== 0) {
    $('trouble-text').textContent = answer.message;
    $('again').onclick = () => showAccount(token, ended);
    show('trouble');
    return;
  }
  const { name, employee_id, department, roles, current_role } = answer.data;
  $('name').textContent = name || employee_id;
  $('monogram').textContent = Array.from(name || employee_id)[0] || '';
  tell('department', [department, employee_id].filter(Boolean).join(' · '));
  $('account-state').textContent = '';
  listRoles(roles || [], current_role, (role) => switchTo(role, token, ended));
  $('sign-out').onclick = () => signOut(token, ended);
  show('account');
}

function listRoles(roles, current, choose) {
  $('roles').textContent = '';
  $('roles-block').hidden = roles.length === 0;
  roles.forEach((role) => {
    const button = document.createElement('button');
    button.textContent = sayOr(role);
    button.dataset.role = role;
    button.setAttribute('aria-pressed', String(role === current));
    button.onclick = () => button.getAttribute('aria-pressed') === 'true' || choose(role);
    const item = document.createElement('li');
    item.append(button);
    $('roles').append(item);
  });
}

async function switchTo(role, token, ended) {
  const answer = await post('/api/auth/switch-role', { role }, token);
  if (answer.code === NO_SESSION) {
    ended(say('ended'));
    return;
  }
  if (answer.code === 0) {
    const now = answer.data.current_role;
    $('roles').querySelectorAll('button').forEach((button) => {
      button.setAttribute('aria-pressed', String(button.dataset.role === now));
    });
  }
  $('account-state').textContent = answer.code === 0 ? say('switched', { role: sayOr(role) }) : answer.message;
}

async function signOut(token, ended) {
  $('sign-out').disabled = true;
  const answer = await post('/api/auth/logout', {}, token);
  $('sign-out').disabled = false;
  // A sign-out that the desk has not acknowledged has not happened, and must not look as if it had.
  if (answer.code === 0 || answer.code === NO_SESSION) ended(say('signed_out'));
  else $('account-state').textContent = answer.message;
}
