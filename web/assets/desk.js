// The desk of whoever is signed in: a place with views, the session that it stands on, and its end.

import { homeOf } from './clients.js';
import { ask, me, signOut } from './deskpass.js';
import { $, h } from './dom.js';
import './desk-words.js';
import { risky } from './dialog.js';
import { dressed } from './dress.js';
import { Inbox } from './inbox.js';
import { goLive } from './live.js';
import { tellUnread } from './nav.js';
import { show, tab } from './page.js';
import { Places } from './places.js';
import { forget, remember, remembered, whySuspended } from './suspended.js';
import { say, sayOr } from './words.js';

const NO_SESSION = 1001;
const REASONS = ['signed_out', 'kicked', 'disabled', 'expired'];
/** How long the end of a session waits for one that is about to take its place. */
const GRACE = 10000;

/**
 * Opens the desk of whoever has this token. `chosen` is false where nobody said which client they want: then it is the one
 * of their role. `onEnd` gets a word to the person, once, when the token is not good any more; `again` tries it all once more,
 * and `isStale` says whether somebody has meanwhile. Returns how to close it; nothing, when it did not open.
 */
export async function openDesk({ token, client, chosen, onEnd, again, isStale }) {
  await dressed(client);
  const answer = await me(token);
  if (isStale()) return null;
  if (answer.code === NO_SESSION) {
    onEnd(whyEnded(answer.data));
    return null;
  }
  const suspended = whySuspended(answer);
  if (answer.code !== 0 && !suspended) return explainTrouble(answer, again);
  // Where the browser keeps nothing, another page would have to begin anew.
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

/** What views work with. */
class Desk {
  constructor({ token, client, me: person, suspended, onEnd }) {
    Object.assign(this, { token, client, me: person, suspended, onEnd });
    this.over = false;
    this.inbox = new Inbox();
    this.places = new Places(this);
  }

  open() {
    remember(this.me);
    this.status = h('p', { id: 'said', role: 'status' });
    this.liveState = h('span', { class: 'live', id: 'live', role: 'status' });
    this.bar = h('div', { class: 'who' },
      this.liveState,
      h('span', { id: 'who' }, this.name()),
      h('button', { class: 'plain', id: 'sign-out', onclick: () => this.signOut() }, say('sign_out')));
    $('entrance').hidden = true;
    document.body.dataset.view = 'desk';
    document.querySelector('header').append(this.bar);
    document.querySelector('header').after(this.places.nav, this.status, this.places.main);
    this.inbox.onUnread = (count) => tellUnread(this.places.nav, count);
    this.follow();
    this.places.open();
  }

  /** Takes the desk away, and everything it showed. */
  close() {
    this.over = true;
    this.places.close();
    this.live.stop();
    this.inbox.close();
    forget();
    document.querySelectorAll('dialog').forEach((dialog) => dialog.remove());
    [this.bar, this.status].forEach((part) => part.remove());
    $('entrance').hidden = false;
  }

  name() {
    return this.me.name || this.me.employee_id;
  }

  /** Ends here, since the session did. Both the socket and an answer may tell; one of them is enough. */
  end(why) {
    if (this.over) return;
    this.close();
    this.onEnd(why);
  }

  /** A session has ended; so does the desk, unless it goes on in another one. */
  async lost(token, why) {
    if (this.renewal) await Promise.race([this.renewal, new Promise((resolve) => setTimeout(resolve, GRACE))]);
    if (token === this.token) this.end(why);
  }

  /**
   * Somebody is signing in again. Where people have one session each, the new one ends this one before the page has it: until
   * what is returned is called, an end waits a moment.
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

  /** Asks in this session. Its end is dealt with: then the answer never comes. */
  async ask(method, path, body, code) {
    const { token } = this;
    const answer = await ask(method, path, { body, token, code });
    if (answer.code === NO_SESSION) await this.lost(token, whyEnded(answer.data));
    if (this.over) return new Promise(() => {});
    // The page went on in another session meanwhile: what the one before could not do, that one can.
    if (answer.code === NO_SESSION) return this.ask(method, path, body, code);
    if (whySuspended(answer) && path !== '/api/auth/switch-role') this.suspend(whySuspended(answer));
    return answer;
  }

  /** Goes on in another session of the same person. */
  adopt(token, person) {
    const role = this.me.current_role;
    this.live.stop();
    Object.assign(this, { token, me: person });
    tab.set('token', token);
    remember(person);
    this.follow();
    if (person.current_role !== role) this.places.go();
  }

  /** The active role is not good any more: what is left is to act in another one. */
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

  /** Does what needs a one-time password, which is asked for in place; null when they thought better of it. */
  risky(what) {
    return risky(this, what);
  }

  /** Tells what was done, or why not, for everybody to see and hear. */
  say(text, bad = false) {
    this.status.classList.toggle('bad', bad);
    this.status.textContent = text;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.status.replaceChildren(), bad ? 12000 : 6000);
  }

  /** Another role is active, by a press here or anywhere else. */
  actAs(role) {
    if (role === this.me.current_role) return;
    this.me.current_role = role;
    this.say(say('switched', { role: sayOr(role) }));
    if (this.suspended) {
      this.lookAgain();
      return;
    }
    this.live.fit(role);
    this.places.go();
  }

  /** Follows what happens to the session elsewhere. */
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

  /** The roles may be others by now. */
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
    // A sign-out that the desk has not acknowledged has not happened, and must not look as if it had.
    if (answer.code === 0 || answer.code === NO_SESSION) this.end(say('signed_out'));
    else this.say(answer.message, true);
  }
}
