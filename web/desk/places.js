// The views of a page: the current one, the navigation to others, and what leaving would lose.

import { askToLeave } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { drawNav } from './nav.js';
import { viewsOf } from './views.js';
import { say } from '../lib/words.js';

/** The place of the views, with the navigation. */
export class Places {
  constructor(desk) {
    this.desk = desk;
    this.main = h('main', { id: 'place', tabindex: '-1' });
    this.nav = h('nav', { id: 'views', 'aria-label': say('views') });
    this.leave = () => {};
    this.held = null;
    this.onHash = () => {
      // A message belongs to the view that it was said in. During an upgrade the class may be that of 0.2.0.
      if (desk.status.clearStatus) desk.status.clearStatus();
      this.go();
    };
    this.onUnload = (event) => this.isHeld() && event.preventDefault();
  }

  open() {
    window.addEventListener('hashchange', this.onHash);
    window.addEventListener('beforeunload', this.onUnload);
    this.turn();
  }

  close() {
    this.leave();
    window.removeEventListener('hashchange', this.onHash);
    window.removeEventListener('beforeunload', this.onUnload);
    [this.nav, this.main].forEach((part) => part.remove());
    if (location.hash.startsWith('#/')) history.replaceState(null, '', location.pathname);
  }

  /** The query of the view in the address. */
  query() {
    return new URLSearchParams(location.hash.split('?')[1] || '');
  }

  /** Writes the query of the view into the address, so that it can be bookmarked and shared; this loads nothing. */
  note(asked) {
    const text = String(asked);
    history.replaceState(history.state, '', `#/${this.shown}${text && `?${text}`}`);
  }

  /** Asks with this text before the user leaves the view, for as long as `isHeld()` says that leaving would lose something. */
  hold(text, isHeld) {
    this.held = { text, isHeld };
  }

  isHeld() {
    return Boolean(this.held && this.held.isHeld());
  }

  /** Goes to the view in the address and draws it again, unless that would lose something. */
  async go() {
    if (this.asking) return;
    this.asking = true;
    const may = !this.isHeld() || (await askToLeave(this.held.text));
    this.asking = false;
    if (this.desk.over) return;
    if (may) this.turn();
    else history.replaceState(null, '', `#/${this.shown}`);
  }

  /** Shows the view that the address names. */
  async turn() {
    const views = viewsOf(this.desk);
    const named = location.hash.slice(2).split('?')[0];
    const view = views.find(({ id }) => id === named) || views[0];
    this.leave();
    this.leave = () => {};
    this.held = null;
    // Dialogs of the previous view are removed, except those whose request is running: its result must be shown.
    document.querySelectorAll('dialog:not([data-sending])').forEach((dialog) => dialog.remove());
    const title = h('h1', { tabindex: '-1' }, view.title);
    const inside = this.main.contains(document.activeElement);
    fill(this.main, title);
    this.main.dataset.view = view.id;
    document.title = `${view.title} · ${document.body.dataset.name}`;
    drawNav(this.nav, views, view, this.desk.inbox.unread);
    // The focus moves only after a change of view, or if the focused element was redrawn.
    if (this.shown && (inside || this.shown !== view.id)) {
      title.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    this.shown = view.id;
    await this.fillWith(view, title);
  }

  async fillWith(view, title) {
    const waiting = h('p', { class: 'lead waiting' }, say('reading'));
    this.main.append(waiting);
    const module = await view.load().catch(() => null);
    waiting.remove();
    // The user has gone to another view meanwhile.
    if (!title.isConnected) return;
    if (module) this.leave = module.show(this.desk, this.main) || (() => {});
    else this.main.append(...notLoaded());
  }
}

/** A browser remembers that it could not load a module, so only a reload of the page helps. */
function notLoaded() {
  const again = () => location.reload();
  const button = h('button', { class: 'button small', onclick: again }, say('again'));
  window.addEventListener('online', () => button.isConnected && again(), { once: true });
  return [h('p', { class: 'refusal', role: 'alert' }, say('not_loaded')), button];
}
