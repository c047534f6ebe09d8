// The sign-in for another program: names the program, asks a user who is signed in already, and returns to the program.

import { me, post } from '../client/deskpass.js';
import { guard } from '../lib/guard.js';
import { action, goTo, leaveCard, showCard, showWaiting } from './oidc-view.js';
import { $, onPhone, tab, tell } from '../lib/page.js';
import { learn, say } from '../lib/words.js';

learn({
  oidc_sign_in: ['Sign in to {client}', '登录 {client}'],
  oidc_continue_title: ['Continue to {client} as {name}?', '以 {name} 的身份继续访问 {client}？'],
  oidc_continue: ['Continue', '继续'],
  oidc_cancel: ['Cancel', '取消'],
  oidc_other_user: ['Sign in as another user', '使用其他账号登录'],
  oidc_another: [
    '{client} expects another user. Sign in with that account.',
    '{client} 要求使用另一个账号，请用该账号登录。',
  ],
  oidc_recent: ['{client} asks you to sign in again.', '{client} 要求您重新登录。'],
  oidc_user_refused: ['You cannot sign in to {client}', '您无法登录 {client}'],
  oidc_user_refused_text: [
    'Your account may not use this program. Ask an administrator for access, or sign in as another user.',
    '您的账号不能使用该应用。请联系管理员开通权限，或使用其他账号登录。',
  ],
  oidc_return: ['Return to {client}', '返回 {client}'],
  oidc_gone: ['This sign-in is no longer valid', '本次登录已失效'],
  oidc_gone_text: [
    'It has expired, was already used, or began in another browser, or this browser does not accept our cookies. Go back to the program and start again.',
    '可能已超时、已被使用，或不是在此浏览器中开始的，也可能是此浏览器不接受本站的 Cookie。请返回应用重新开始。',
  ],
  oidc_back: ['Start again', '重新开始'],
  oidc_again: ['Try again', '重试'],
});

const NO_SESSION = 1001;
/** The id is malformed or unknown, or no program is connected, or the request is used or too old: all of them look alike. */
const GONE = [1002, 1004, 1019];
const LONGEST_ID = 64;

/**
 * Reads the request of a program. `ways.signIn(why, isFirst)` offers the ways to sign in, and `ways.stop()` withdraws them.
 * Resolves to the request; to null where it cannot be read, which is then shown.
 */
export async function openRequest(id, ways) {
  const answer = await post('/api/auth/oidc/request', { request: id });
  if (answer.code === 0) return new OidcRequest(id, answer.data, ways);
  if (GONE.includes(answer.code)) showGone();
  else showTrouble(answer, () => location.reload());
  return null;
}

/** The program is unknown now. The page before this one is where it sent the user from; a tab that it opened has none. */
const showGone = () => showCard({
  title: say('oidc_gone'),
  text: say('oidc_gone_text'),
  actions: history.length > 1 ? [action('oidc-back', say('oidc_back'), () => history.back(), { isMain: true })] : [],
});

const showTrouble = ({ message }, again) =>
  showCard({ title: say('trouble'), text: message, actions: [action('oidc-again', say('oidc_again'), again, { isMain: true })] });

class OidcRequest {
  constructor(id, { client, host, needs, user, login_hint, expires_in }, ways) {
    Object.assign(this, { id, client, host, ways, user: needs === 'press' ? user : null });
    this.guards = [];
    /** Fills in the ID of an agent who signs in by password. */
    this.hint = login_hint && login_hint.length <= LONGEST_ID ? login_hint : '';
    this.timer = setTimeout(() => this.expire(), expires_in * 1000);
    document.body.classList.add('for-oidc');
    $('welcome-title').textContent = say('oidc_sign_in', { client });
    tell('oidc-host', host);
    $('oidc-cancel').onclick = () => this.deny();
    $('oidc-cancel').hidden = false;
  }

  /** A press on the way to the platform also agrees to go on to the program, so one that was meant for another page must not count. */
  guardTrips() {
    this.stopGuards();
    const here = $('here').querySelector(onPhone ? '.only-phone' : '.not-phone');
    this.guards = [guard($('by-platform')), guard($('here'), here), guard($('try-again'))];
  }

  stopGuards() {
    this.guards.forEach((stop) => stop());
    this.guards = [];
  }

  /** Another request is read, or this one is over. */
  close() {
    this.isClosed = true;
    this.stopGuards();
    clearTimeout(this.timer);
    $('oidc-cancel').hidden = true;
    leaveCard();
  }

  expire() {
    this.close();
    this.ways.stop();
    showGone();
  }

  /** Its code has ended, perhaps because the service was restarted: then the request may be gone, too, and no code helps. */
  async endIfGone() {
    const { code } = await post('/api/auth/oidc/request', { request: this.id });
    if (!this.isClosed && GONE.includes(code)) this.expire();
  }

  /** Asks a user who is signed in already, in this tab or by another program; other users sign in. */
  async begin() {
    if (tab.get('other-user') === this.id) this.ways.signIn({}, false);
    else if (tab.get('token')) await this.askFor(tab.get('token'));
    else if (this.user) this.ask(this.user, '');
    else this.ways.signIn({}, true);
  }

  /** Asks whether to continue in the session of this token. */
  async askFor(token) {
    showWaiting();
    const { code, data } = await me(token);
    if (code === NO_SESSION && token === tab.get('token')) tab.drop('token');
    if (code === 0) this.ask(data, token);
    else if (this.user) this.ask(this.user, '');
    else this.ways.signIn({}, true);
  }

  /** Asks whether to continue as this user. Without a token the service knows the session by the cookie of this browser. */
  ask({ name, employee_id }, token) {
    this.ways.stop();
    showCard({
      title: say('oidc_continue_title', { client: this.client, name: name || employee_id }),
      host: this.host,
      actions: [
        action('cancel', say('oidc_cancel'), () => this.deny()),
        action('oidc-go', say('oidc_continue'), () => this.continueWith(token), { isMain: true, isGuarded: true }),
      ],
      other: this.anotherUser(),
    });
  }

  anotherUser() {
    return action('oidc-other', say('oidc_other_user'), () => this.signInAnew({}));
  }

  /** Sessions of before do not count any more, also after a reload. The session of this tab stays as it is. */
  signInAnew(why) {
    leaveCard();
    tab.set('other-user', this.id);
    this.ways.signIn(why, false);
  }

  /** Returns to the program with the session of this token, which is kept nowhere: it is for the program only. */
  async continueWith(token) {
    this.ways.stop();
    showWaiting();
    const answer = await post('/api/auth/oidc/continue', { request: this.id }, token);
    if (answer.code === 0) this.leaveFor(answer.data.redirect_to);
    else this.refuse(answer, token);
  }

  /** Returns to the program without a session; with a token the program learns whether its user may use it at all. */
  async deny(token = '') {
    this.ways.stop();
    showWaiting();
    const answer = await post('/api/auth/oidc/deny', { request: this.id }, token);
    if (answer.code === 0) this.leaveFor(answer.data.redirect_to);
    else if (GONE.includes(answer.code)) this.expire();
    else showTrouble(answer, () => this.deny(token));
  }

  leaveFor(address) {
    this.isClosed = true;
    clearTimeout(this.timer);
    tab.drop('other-user');
    goTo(address);
  }

  refuse(answer, token) {
    const reason = (answer.data && answer.data.reason) || '';
    if (reason === 'another_user_needed') this.signInAnew({ text: say('oidc_another', { client: this.client }) });
    else if (reason === 'recent_sign_in_needed') this.signInAnew({ text: say('oidc_recent', { client: this.client }) });
    else if (answer.code === NO_SESSION) this.signInAnew({ text: say('ended') });
    else if (GONE.includes(answer.code)) this.expire();
    else if (reason) this.explain(reason === 'client_not_allowed' ? say('oidc_user_refused_text') : answer.message, token);
    else showTrouble(answer, () => this.continueWith(token));
  }

  /** Other programs show errors as they are, so the user reads the reason here and then returns. */
  explain(text, token) {
    showCard({
      title: say('oidc_user_refused', { client: this.client }),
      host: this.host,
      text,
      actions: [action('oidc-return', say('oidc_return', { client: this.client }), () => this.deny(token), { isMain: true })],
      other: this.anotherUser(),
    });
  }
}
