// The desk of whoever is signed in: a place with views, the session that it stands on, and its end.

import { ask, me, signOut } from './deskpass.js';
import { $, fill, h } from './dom.js';
import './desk-words.js';
import { risky } from './dialog.js';
import { dressed } from './dress.js';
import { Inbox } from './inbox.js';
import { goLive } from './live.js';
import { drawNav, tellUnread } from './nav.js';
import { show } from './page.js';
import { forget, remember, remembered, whySuspended } from './suspended.js';
import { viewsOf } from './views.js';
import { say, sayOr } from './words.js';

const NO_SESSION = 1001;
const REASONS = ['signed_out', 'kicked', 'disabled', 'expired'];
const HOMES = { admin: '/itadmin/', security: '/itadmin/', agent: '/itagent/', supervisor: '/itagent/' };

/**
 * Opens the desk of whoever has this token. `chosen` is false where nobody said which client they want: then it is the one
 * of their role. `onEnd` gets a word to the person, once, when the token is not good any more; `again` tries it all once more.
 * Returns how to close it; nothing, when it did not open.
 */
export async function openDesk({ token, client, chosen, onEnd, again }) {
  await dressed();
  const answer = await me(token);
  if (answer.code === NO_SESSION) {
    onEnd(whyEnded(answer.data));
    return null;
  }
  const suspended = whySuspended(answer);
  if (answer.code !== 0 && !suspended) return explainTrouble(answer, again);
  if (!chosen && !suspended) {
    location.replace(HOMES[answer.data.current_role] || '/h5/');
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
    this.leave = () => {};
    this.listeners = new Set();
    this.mayLeave = null;
    this.showPlace = () => this.go();
  }

  open() {
    remember(this.me);
    this.place = h('main', { id: 'place', tabindex: '-1' });
    this.nav = h('nav', { id: 'views', 'aria-label': say('views') });
    this.status = h('p', { id: 'said', role: 'status' });
    this.liveState = h('span', { class: 'live', id: 'live', role: 'status' });
    this.bar = h('div', { class: 'who' },
      this.liveState,
      h('span', { id: 'who' }, this.name()),
      h('button', { class: 'plain', id: 'sign-out', onclick: () => this.signOut() }, say('sign_out')));
    $('entrance').hidden = true;
    document.body.dataset.view = 'desk';
    document.querySelector('header').append(this.bar);
    document.querySelector('header').after(this.nav, this.status, this.place);
    window.addEventListener('hashchange', this.showPlace);
    this.inbox.onUnread = (count) => tellUnread(this.nav, count);
    this.follow();
    this.turn();
  }

  /** Takes the desk away, and everything it showed. */
  close() {
    this.over = true;
    this.leave();
    this.live.stop();
    this.inbox.close();
    forget();
    window.removeEventListener('hashchange', this.showPlace);
    document.querySelectorAll('dialog').forEach((dialog) => dialog.remove());
    [this.bar, this.nav, this.status, this.place].forEach((part) => part.remove());
    if (location.hash.startsWith('#/')) history.replaceState(null, '', location.pathname);
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

  /** Asks in this session. Its end is dealt with: then the answer never comes. */
  async ask(method, path, body, code) {
    const answer = await ask(method, path, { body, token: this.token, code });
    if (this.over) return new Promise(() => {});
    if (answer.code === NO_SESSION) this.end(whyEnded(answer.data));
    else if (whySuspended(answer) && path !== '/api/auth/switch-role') this.suspend(whySuspended(answer));
    else return answer;
    return new Promise(() => {});
  }

  /** The active role is not good any more: what is left is to act in another one. */
  suspend(why) {
    if (this.suspended === why) return;
    if (why === 'role_taken_away') this.me.roles = this.me.roles.filter((role) => role !== this.me.current_role);
    this.me.current_role = null;
    this.suspended = why;
    remember(this.me);
    this.turn();
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

  /** Calls with every frame of the socket for as long as the view is there; returns how to stop. */
  hear(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** What the address asks of the view. */
  query() {
    return new URLSearchParams(location.hash.split('?')[1] || '');
  }

  /** Writes into the address what the view shows, so that it can be kept and sent on; nothing is loaded by that. */
  note(asked) {
    const text = String(asked);
    history.replaceState(history.state, '', `#/${this.shown}${text && `?${text}`}`);
  }

  /** Goes where the address says, once the view agrees, which may have something to lose. */
  async go() {
    if (this.asking) return;
    this.asking = true;
    const may = !this.mayLeave || (await this.mayLeave());
    this.asking = false;
    if (this.over) return;
    if (may) this.turn();
    else history.replaceState(null, '', `#/${this.shown}`);
  }

  /** Shows the view that the address names. */
  async turn() {
    const views = viewsOf(this);
    const named = location.hash.slice(2).split('?')[0];
    const view = views.find(({ id }) => id === named) || views[0];
    this.leave();
    this.leave = () => {};
    this.mayLeave = null;
    const title = h('h1', { tabindex: '-1' }, view.title);
    const inside = this.place.contains(document.activeElement);
    fill(this.place, title);
    this.place.dataset.view = view.id;
    document.title = `${view.title} · deskpass`;
    drawNav(this.nav, views, view, this.inbox.unread);
    // Only whoever came from another view, or was at something that is drawn anew, is taken along.
    if (this.shown && (inside || this.shown !== view.id)) {
      title.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    this.shown = view.id;
    await this.fillWith(view, title);
  }

  async fillWith(view, title) {
    const waiting = h('p', { class: 'lead waiting' }, say('reading'));
    this.place.append(waiting);
    try {
      const { show: fillPlace } = await view.load();
      waiting.remove();
      if (title.isConnected) this.leave = fillPlace(this, this.place) || (() => {});
    } catch (_) {
      waiting.remove();
      const again = h('button', { class: 'button small', onclick: () => location.reload() }, say('again'));
      if (title.isConnected) this.place.append(h('p', { class: 'refusal' }, say('not_loaded')), again);
    }
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
    this.turn();
  }

  /** Follows what happens to the session elsewhere. */
  follow() {
    this.live = goLive(this, this.liveState, {
      frame: (frame) => this.heard(frame),
      gap: () => this.heard(null),
      role: (role) => this.actAs(role),
      ending: () => this.say(say('ending'), true),
      lost: () => this.lookAgain(),
      over: (reason) => this.end(this.leaving ? say('signed_out') : whyEnded({ reason })),
    });
  }

  heard(frame) {
    this.inbox.take(frame);
    this.listeners.forEach((listener) => listener(frame));
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
    this.turn();
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
