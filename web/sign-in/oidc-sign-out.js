// The sign-out that another program asks for. A link could ask as well, so nothing ends without a press.

import { post } from '../client/deskpass.js';
import { action, goTo, showCard, showWaiting } from './oidc-view.js';
import { tab } from '../lib/page.js';
import { learn, say } from '../lib/words.js';

learn({
  oidc_out_of: ['Sign out of {client} and all programs of this session?', '退出 {client} 以及本次会话登录的所有应用？'],
  oidc_out_all: ['Sign out of all programs of this session?', '退出本次会话登录的所有应用？'],
  oidc_out_text: [
    'Your session ends here and in all programs that you signed in to with it.',
    '您的会话将在此处以及用它登录的所有应用中结束。',
  ],
  oidc_out_user: [' It is the session of {name}.', '这是 {name} 的会话。'],
  oidc_out_go: ['Sign out', '退出登录'],
  oidc_out_stay: ['Stay signed in', '保持登录'],
  oidc_stayed: ['You are still signed in', '您仍处于登录状态'],
  oidc_out: ['You are signed out', '您已退出登录'],
  oidc_close: ['You can close this page.', '您可以关闭此页面。'],
  oidc_out_gone: ['This sign-out is no longer valid', '本次退出请求已失效'],
  oidc_out_gone_text: [
    'It has expired, was already used, or began in another browser. To sign out of everything, open the sign-in page and use “Sign out everywhere” under “Security”.',
    '可能已超时、已被使用，或不是在此浏览器中开始的。如需全部退出，请打开登录页，在“安全”中使用“全部退出”。',
  ],
  oidc_home: ['Go to the help desk', '前往服务台'],
  oidc_out_again: ['Try again', '重试'],
});

/** What the address says once the session has ended and there is no page to return to. */
const DONE = 'done';
const GONE = [1002, 1004, 1019];

/** Asks before the session of this browser ends. */
export async function askToSignOut(id) {
  if (id === DONE) {
    tellDone();
    return;
  }
  const answer = await post('/api/auth/oidc/request', { request: id });
  if (GONE.includes(answer.code)) finish('oidc_out_gone', 'oidc_out_gone_text');
  else if (answer.code !== 0) tellTrouble(answer, () => location.reload());
  else ask(id, answer.data);
}

function ask(id, { client, host, user }) {
  showCard({
    title: client ? say('oidc_out_of', { client }) : say('oidc_out_all'),
    host,
    text: say('oidc_out_text') + (user ? say('oidc_out_user', { name: user.name || user.employee_id }) : ''),
    actions: [
      action('cancel', say('oidc_out_stay'), () => finish('oidc_stayed', 'oidc_close')),
      action('oidc-go', say('oidc_out_go'), () => signOut(id), { isMain: true, isGuarded: true }),
    ],
  });
}

async function signOut(id) {
  showWaiting();
  const answer = await post('/api/auth/oidc/logout', { request: id });
  if (GONE.includes(answer.code)) finish('oidc_out_gone', 'oidc_out_gone_text');
  else if (answer.code !== 0) tellTrouble(answer, () => signOut(id));
  else if (answer.data.redirect_to) goTo(answer.data.redirect_to);
  else tellDone();
}

function tellDone() {
  // A user who signed out must not be signed in again at once.
  tab.set('went', '1');
  history.replaceState(null, '', `/?logout=${DONE}`);
  finish('oidc_out', 'oidc_close');
}

const finish = (title, text) =>
  showCard({ title: say(title), text: say(text), actions: [action('oidc-home', say('oidc_home'), () => location.assign('/'))] });

const tellTrouble = ({ message }, again) =>
  showCard({
    title: say('trouble'), text: message,
    actions: [action('oidc-again', say('oidc_out_again'), again, { isMain: true })],
  });
