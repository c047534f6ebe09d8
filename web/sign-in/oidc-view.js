// The card of a request of another program: a title, the host of the program, and buttons.

import { fill, h } from '../lib/dom.js';
import { guard } from '../lib/guard.js';
import { $, leave, show, tell } from '../lib/page.js';
import { learn, say } from '../lib/words.js';

learn({
  oidc_returning: ['Returning to the program…', '正在返回应用…'],
});

let stopGuard = () => {};

/** A button of the card. One that `isGuarded` counts only once the card was visible and untouched for a while. */
export const action = (id, text, run, { isMain = false, isGuarded = false } = {}) => ({ id, text, run, isMain, isGuarded });

/** Shows the card. `actions` are its buttons, and `other` is a link-like one below them. */
export function showCard({ title, host = '', text = '', ref = '', actions = [], other = null }) {
  leaveCard();
  const button = ({ id, text: words, run, isMain, isGuarded }) =>
    h('button', { class: `button${isMain ? ' main' : ''}`, id, disabled: isGuarded, onclick: run }, words);
  fill($('oidc'),
    h('div', { class: 'stub' },
      h('h1', { id: 'oidc-title', tabindex: '-1' }, title),
      host && h('p', { class: 'lead host' }, host),
      text && h('p', { class: 'lead', id: 'oidc-text' }, text),
      ref && h('small', {}, ref)),
    actions.length > 0 && h('div', { class: 'face' },
      h('div', { class: 'choice' }, actions.map(button)),
      other && h('button', { class: 'plain centre', id: other.id, onclick: other.run }, other.text)));
  show('oidc');
  $('oidc-title').focus({ preventScroll: true });
  const guarded = actions.find(({ isGuarded }) => isGuarded);
  if (guarded) stopGuard = guard($(guarded.id));
}

/** Stops what the card does by itself. */
export function leaveCard() {
  stopGuard();
  stopGuard = () => {};
}

/** Shows that a request is running. */
export function showWaiting() {
  leaveCard();
  show('loading');
}

/** Goes to an address from the service. This page is not kept in the history: its request is used up. */
export function goTo(address) {
  leaveCard();
  tell('loading', say('oidc_returning'));
  show('loading');
  leave(address, (url) => location.replace(url));
}
