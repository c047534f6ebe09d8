// What all pages share: one view at a time, secrets that leave the address bar at once, plain words for errors.

import { paint, say } from './words.js';

export const $ = (id) => document.getElementById(id);

const ERRORS = ['denied', 'invalid_code', 'not_a_member', 'no_role', 'disabled', 'platform_unavailable', 'internal'];
const CLIENTS = ['h5', 'itagent', 'itadmin'];

/** A client by its word; what is not known is the help desk itself. */
export const known = (client) => (CLIENTS.includes(client) ? client : 'h5');

/** Starts a page, unless somebody else's page is around it: then a press here might be meant for something else. */
export function open(run) {
  paint();
  if (window.top !== window.self) {
    document.body.textContent = say('framed');
    return;
  }
  document.querySelector('main').hidden = false;
  run();
  window.addEventListener('hashchange', run);
  // Back from the platform: the page may be as it was left, with its connections gone.
  window.addEventListener('pageshow', (event) => event.persisted && run());
}

/** Shows one view and tells screen readers about it. */
export function show(id) {
  document.querySelectorAll('main > section').forEach((view) => {
    view.hidden = view.id !== id;
  });
  document.body.dataset.view = id;
  const title = document.querySelector(`#${id} h1`);
  document.title = `${title.textContent} · deskpass`;
  title.focus({ preventScroll: true });
}

/** Writes a text and shows its element, or hides it when there is nothing to say. */
export function tell(id, text) {
  $(id).textContent = text;
  $(id).hidden = !text;
}

/** An error in our own words: anyone can write a link, so nothing of it is shown but a short reference. */
export function explain(fragment) {
  const word = ERRORS.includes(fragment.get('error')) ? fragment.get('error') : 'internal';
  const ref = fragment.get('ref') || '';
  return {
    title: say(`error_${word}`),
    text: say(`error_${word}_next`),
    ref: /^[0-9A-Za-z]{1,16}$/.test(ref) ? say('ref', { ref }) : '',
  };
}

/** Storage that lasts as long as the tab; a browser that refuses it only loses the reload. */
export const tab = {
  get: (key) => guarded(() => sessionStorage.getItem(`deskpass.${key}`)),
  set: (key, value) => guarded(() => sessionStorage.setItem(`deskpass.${key}`, value)),
  drop: (key) => guarded(() => sessionStorage.removeItem(`deskpass.${key}`)),
};

function guarded(access) {
  try {
    return access();
  } catch (_) {
    return null;
  }
}

/** Counts down in the element #countdown; returns how to stop. */
export function countDown(seconds, over) {
  const end = Date.now() + seconds * 1000;
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    tell('countdown', say('left', { time }));
    if (left > 0) return;
    stop();
    over();
  };
  const timer = setInterval(tick, 1000);
  const stop = () => clearInterval(timer);
  tick();
  return stop;
}

/** Leaves for an address the desk gave, provided it is one of the web. */
export function leave(address, go) {
  const url = new URL(address, location.href);
  if (/^https?:$/.test(url.protocol)) go(url.href);
}
