// Who is signed in, as what, and the way out.

import { me, signOut, switchRole } from './deskpass.js';
import { goLive } from './live.js';
import { $, show, tell } from './page.js';
import { say, sayOr } from './words.js';

const NO_SESSION = 1001;
const REASONS = ['signed_out', 'kicked', 'disabled', 'expired'];
let live = null;

/** Shows whose token this is. `ended` is called once with a word to the person when it is not good any more. */
export async function showAccount(token, client, ended) {
  hideAccount();
  const answer = await me(token);
  if (answer.code === NO_SESSION) {
    ended(whyEnded(answer.data));
    return;
  }
  if (answer.code !== 0) {
    $('trouble-text').textContent = answer.message;
    $('again').onclick = () => showAccount(token, client, ended);
    show('trouble');
    return;
  }
  const { name, employee_id, department, roles, current_role } = answer.data;
  $('name').textContent = name || employee_id;
  $('monogram').textContent = Array.from(name || employee_id)[0] || '';
  tell('department', [department, employee_id].filter(Boolean).join(' · '));
  $('account-state').textContent = '';
  const account = accountOf(token, client, ended);
  listRoles(roles || [], current_role, (role) => switchTo(role, account));
  $('sign-out').onclick = () => leave(account);
  show('account');
  follow(account, current_role, () => showAccount(token, client, ended));
}

/** Stops following the session, of which another view takes the place. */
export function hideAccount() {
  if (live) live.stop();
  live = null;
}

/** A session as this page has it. Its end may be told by the socket and by an answer; one of them is enough. */
function accountOf(token, client, ended) {
  const account = { token, client, leaving: false, over: false };
  account.end = (why) => {
    if (account.over) return;
    account.over = true;
    hideAccount();
    ended(why);
  };
  return account;
}

/** Follows what happens to the session elsewhere. */
function follow(account, role, lookAgain) {
  hideAccount();
  live = goLive(account, role, {
    role: actAs,
    ending: () => note(say('ending')),
    lost: lookAgain,
    over: (reason) => account.end(account.leaving ? say('signed_out') : whyEnded({ reason })),
  });
}

const whyEnded = (data) => say(data && REASONS.includes(data.reason) ? `ended_${data.reason}` : 'ended');

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

async function switchTo(role, account) {
  const answer = await switchRole(account.token, role);
  if (answer.code === NO_SESSION) account.end(whyEnded(answer.data));
  else if (answer.code === 0) actAs(answer.data.current_role);
  else note(answer.message);
}

/** Another role is active, by a press here or anywhere else. */
function actAs(role) {
  $('roles').querySelectorAll('button').forEach((button) => {
    button.setAttribute('aria-pressed', String(button.dataset.role === role));
  });
  note(say('switched', { role: sayOr(role) }));
  if (live) live.fit(role);
}

/** Says something once: a role that is switched here is told by the socket too. */
function note(text) {
  if ($('account-state').textContent !== text) $('account-state').textContent = text;
}

async function leave(account) {
  $('sign-out').disabled = true;
  account.leaving = true;
  const answer = await signOut(account.token);
  account.leaving = false;
  $('sign-out').disabled = false;
  // A sign-out that the desk has not acknowledged has not happened, and must not look as if it had.
  if (answer.code === 0 || answer.code === NO_SESSION) account.end(say('signed_out'));
  else note(answer.message);
}
