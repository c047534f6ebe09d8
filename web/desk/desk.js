// The page of a signed-in user: a place with views, the session behind it, and its end.

import { homeOf, isFor } from '../lib/clients.js';
import { ask, me, signOut } from '../client/deskpass.js';
import { $, h } from '../lib/dom.js';
import '../components/desk-words.js';
import { dressed as loadStyles } from '../components/dress.js';
import { deviceReady, risky } from '../factors/high-risk.js';
import { Inbox } from './inbox.js';
import { goLive } from './live.js';
import { tellUnread } from './nav.js';
import { show, tab } from '../lib/page.js';
import { Places } from './places.js';
import { StatusLine } from './status-line.js';
import { forget, remember, remembered, whySuspended } from './suspended.js';
import { offerSession } from '../lib/tabs.js';
import { say, sayOr } from '../lib/words.js';

const NO_SESSION = 1001;
const REASONS = ['signed_out', 'kicked', 'disabled', 'left', 'expired'];
/** How long the end of a session waits for a new session that is about to replace it. */
const GRACE = 10000;

/**
 * Opens the page for this token. `chosen` is false where the address names no client: then it is the client of the user's role.
 * `onEnd` receives a text for the user, once, when the token is no longer valid; `again` retries everything, and `isStale` says
 * whether a newer attempt has started. Returns a function that closes the page; nothing, when it did not open.
 */
export async function openDesk({ token, client, chosen, onEnd, again, isStale }) {
  await loadStyles(client);
  const answer = await me(token);
  if (isStale()) return null;
  if (answer.code === NO_SESSION) {
    onEnd(whyEnded(answer.data));
    return null;
  }
  const suspended = whySuspended(answer);
  if (answer.code !== 0 && !suspended) return explainTrouble(answer, again);
  // Where the browser stores nothing, another page would require a new sign-in.
  if (!chosen && !suspended && tab.get('token')) {
    location.replace(homeOf(answer.data.current_role));
    return null;
  }
  const desk = new Desk({ token, client, me: suspended ? remembered() : answer.data, suspended, onEnd });
  desk.open();
  return desk;
}

function explainTrouble({ message }, again) {
  $('trouble-text').textContent = message;
  $('again').onclick = again;
  show('trouble');
  return null;
}

const whyEnded = (data) => say(data && REASONS.includes(data.reason) ? `ended_${data.reason}` : 'ended');

/** The interface of the views. */
class Desk {
  constructor({ token, client, me: person, suspended, onEnd }) {
    Object.assign(this, { token, client, me: person, suspended, onEnd });
    this.over = false;
    /** How the user can confirm changes, once that is known. */
    this.confirmations = null;
    this.inbox = new Inbox();
    this.places = new Places(this);
    this.status = new StatusLine();
  }

  open() {
    remember(this.me);
    this.liveState = h('span', { class: 'live', id: 'live', role: 'status' });
    this.bar = h('div', { class: 'who' },
      this.liveState,
      h('span', { id: 'who' }, this.name()),
      h('button', { class: 'plain', id: 'sign-out', onclick: () => this.signOut() }, say('sign_out')));
    $('entrance').hidden = true;
    document.body.dataset.view = 'desk';
    document.querySelector('header').append(this.bar);
    document.querySelector('header').after(this.places.nav, this.status.element, this.places.main);
    this.inbox.restore(this.me);
    this.inbox.onUnread = (count) => tellUnread(this.places.nav, count);
    this.follow();
    this.places.open();
    // Where the origin has pages of the operator, their scripts could ask for the session as well, so none is offered.
    const offers = document.body.dataset.tabs === 'shared';
    const session = () => ({ name: this.name(), token: this.token });
    this.withdraw = offers ? offerSession(session, () => this.say(say('shared_with_tab'))) : () => {};
    // The user came from another client, whose page could not say so any more.
    if (tab.get('said')) this.say(tab.get('said'));
    tab.drop('said');
    this.resume();
  }

  /** Continues with the authenticator, if the user left for the platform to sign in again because of it. */
  async resume() {
    const what = tab.get('resume');
    tab.drop('resume');
    if (what === 'device' && (await deviceReady(this))) this.say(say('device_ready'));
  }

  /** Removes the page and everything it showed. */
  close() {
    this.over = true;
    this.withdraw();
    this.places.close();
    this.live.stop();
    this.inbox.close();
    forget();
    document.querySelectorAll('dialog').forEach((dialog) => dialog.remove());
    [this.bar, this.status.element].forEach((part) => part.remove());
    // During an upgrade this class may be that of 0.2.0.
    if (this.status.clearStatus) this.status.clearStatus();
    $('entrance').hidden = false;
  }

  name() {
    return this.me.name || this.me.employee_id;
  }

  /** Closes the page because the session ended. Both the socket and a response may report it; the first one counts. */
  end(why) {
    if (this.over) return;
    this.close();
    this.onEnd(why);
  }

  /** Handles the end of a session; the page closes, unless it continues in another session. */
  async lost(token, why) {
    if (this.renewal) await Promise.race([this.renewal, new Promise((resolve) => setTimeout(resolve, GRACE))]);
    if (token === this.token) this.end(why);
  }

  /**
   * Marks a new sign-in in progress. Where users have one session each, the new one ends this one before the page has it: until
   * the returned function is called, an end waits a moment.
   */
  awaitRenewal() {
    let settle = () => {};
    const renewal = new Promise((resolve) => {
      settle = resolve;
    });
    this.renewal = renewal;
    return () => {
      if (this.renewal === renewal) this.renewal = null;
      settle();
    };
  }

  /** Sends a request in this session, with the `code` or the `approval` that confirms it. If the session has ended, that is handled here, and the promise never resolves. */
  async ask(method, path, body, confirmation = {}) {
    const { token } = this;
    const answer = await ask(method, path, { body, token, ...confirmation });
    if (answer.code === NO_SESSION) await this.lost(token, whyEnded(answer.data));
    if (this.over) return new Promise(() => {});
    // The page continued in another session meanwhile: the request is repeated there.
    if (answer.code === NO_SESSION) return this.ask(method, path, body, confirmation);
    if (whySuspended(answer) && path !== '/api/auth/switch-role') this.suspend(whySuspended(answer));
    return answer;
  }

  /** Continues in another session of the same user. */
  adopt(token, person) {
    const role = this.me.current_role;
    this.live.stop();
    Object.assign(this, { token, me: person });
    tab.set('token', token);
    remember(person);
    this.follow();
    if (person.current_role !== role) this.places.go();
  }

  /** The active role is no longer valid: the user can only act in another one. */
  suspend(why) {
    if (this.suspended === why) return;
    if (why === 'role_taken_away') this.me.roles = this.me.roles.filter((role) => role !== this.me.current_role);
    this.me.current_role = null;
    this.suspended = why;
    remember(this.me);
    this.places.go();
  }

  get(path) {
    return this.ask('GET', path);
  }

  post(path, body = {}) {
    return this.ask('POST', path, body);
  }

  /** Runs an operation that must be confirmed, with a code or on the phone, which a dialog asks for; null when the user cancels. */
  risky(what) {
    return risky(this, what);
  }

  /** Shows a result or an error, visibly and for screen readers. */
  say(text, bad = false) {
    this.status.say(text, bad);
  }

  /** Switches to another role; one that this client is not for opens the client that it is for. */
  async choose(role) {
    this.choosing = role;
    const answer = await this.post('/api/auth/switch-role', { role });
    this.choosing = '';
    if (answer.code !== 0) {
      this.say(answer.message, true);
    } else if (isFor(this.client, role) || !tab.get('token')) {
      // Where the browser stores nothing, another page would require a new sign-in.
      this.actAs(role);
    } else {
      this.choosing = role;
      tab.set('said', say('switched', { role: sayOr(role) }));
      location.assign(homeOf(role));
    }
  }

  /** Another role is active, chosen here or elsewhere. */
  actAs(role) {
    // The socket may report the choice of this page before its own response arrives.
    if (role === this.me.current_role || role === this.choosing) return;
    this.me.current_role = role;
    this.say(say('switched', { role: sayOr(role) }));
    if (this.suspended) {
      this.lookAgain();
      return;
    }
    this.live.fit(role);
    this.places.go();
  }

  /** Follows changes of the session that are made elsewhere. */
  follow() {
    const { token } = this;
    this.live = goLive(this, this.liveState, {
      frame: (frame) => this.inbox.take(frame),
      gap: () => this.inbox.take(null),
      role: (role) => this.actAs(role),
      ending: () => this.say(say('ending'), true),
      lost: () => this.lookAgain(),
      over: (reason) => this.lost(token, this.leaving ? say('signed_out') : whyEnded({ reason })),
    });
  }

  /** Reads the user again; the roles may have changed. */
  async lookAgain() {
    const answer = await this.get('/api/auth/me');
    if (answer.code !== 0) {
      this.say(answer.message, true);
      return;
    }
    this.me = answer.data;
    this.suspended = '';
    remember(this.me);
    this.bar.querySelector('#who').textContent = this.name();
    this.live.fit(this.me.current_role);
    this.places.go();
  }

  async signOut() {
    $('sign-out').disabled = true;
    this.leaving = true;
    const answer = await signOut(this.token);
    this.leaving = false;
    if (this.over) return;
    $('sign-out').disabled = false;
    // A sign-out that the service has not acknowledged has not happened, and must not look as if it had.
    if (answer.code === 0 || answer.code === NO_SESSION) this.end(say('signed_out'));
    else this.say(answer.message, true);
  }
}
