// Shared by all pages: one view at a time, secrets that leave the address bar at once, plain words for errors.

import { CLIENTS } from './clients.js';
import { SIGN_IN_ERRORS } from '../client/deskpass.js';
import { $ } from './dom.js';
import { say } from './words.js';

export { $ };

/** What browsers inside the platform's app have in their names; the service fills it in. */
const MARKS = JSON.parse('{platform.marks}');
const agent = navigator.userAgent.toLowerCase();
/** Whether the page is open in the platform's own app. */
export const inPlatform = MARKS.some((mark) => agent.includes(mark.toLowerCase()));
/** Whether it is open on a phone, as in the stylesheet: a phone cannot scan a code on its own screen. */
export const onPhone = matchMedia('(pointer: coarse) and (max-width: 759px)').matches && !inPlatform;

/** A client by its name; an unknown one is the help desk itself. */
export const known = (client) => (CLIENTS.includes(client) ? client : 'h5');

/** Starts a page, and again when the browser restores it (`restored`); not in a frame, where a press may be misled. */
export function open(run, restored = run) {
  if (window.top !== window.self) {
    document.body.textContent = say('framed');
    return;
  }
  $('language').onclick = () => speak($('language').dataset.to);
  tellNetwork();
  window.addEventListener('online', tellNetwork);
  window.addEventListener('offline', tellNetwork);
  run();
  window.addEventListener('hashchange', run);
  // The page may be restored as it was left, with its connections gone.
  window.addEventListener('pageshow', (event) => event.persisted && restored());
}

/** Remembers the language for a year, on all pages: the service renders them. */
function speak(language) {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `deskpass_language=${language}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  location.reload();
}

const tellNetwork = () => tell('offline', navigator.onLine ? '' : say('offline'));

/** Shows one view and tells screen readers about it. */
export function show(id) {
  document.querySelectorAll('main > *').forEach((view) => {
    if (view.matches('section, #loading')) view.hidden = view.id !== id;
  });
  const known = document.body.dataset.view === id;
  document.body.dataset.view = id;
  const title = document.querySelector(`#${id} h1`);
  if (!title) return;
  document.title = `${title.innerText || title.textContent} · ${document.body.dataset.name}`;
  // A user who is there already keeps their position.
  if (!known) title.focus({ preventScroll: true });
}

/** Writes a text and shows its element, or hides it when there is nothing to say. */
export function tell(id, text) {
  $(id).textContent = text;
  $(id).hidden = !text;
}

/** An error in our own words, also for the `more` that a page knows: links can be forged, so only a short reference of them is shown. */
export function explain(fragment, more = []) {
  const word = [...SIGN_IN_ERRORS, ...more].includes(fragment.get('error')) ? fragment.get('error') : 'internal';
  const ref = fragment.get('ref') || '';
  return {
    word,
    title: say(`error_${word}`),
    text: say(`error_${word}_next`),
    ref: /^[0-9A-Za-z]{1,16}$/.test(ref) ? say('ref', { ref }) : '',
  };
}

/** Storage that lasts as long as the tab; a browser that refuses it only loses the session on reload. */
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

/** Counts down in the element #countdown; returns a function that stops it. */
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

/** Goes to an address from the service, provided it is a web address. */
export function leave(address, go) {
  const url = new URL(address, location.href);
  if (/^https?:$/.test(url.protocol)) go(url.href);
}
