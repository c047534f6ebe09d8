// The page inside the platform's own app: gets a code from the platform's script, and returns to the service with it.

import { get } from '../client/api.js';
import { startOAuth, takeFragment } from '../client/deskpass.js';
import { $, leave, open, show, tab, tell } from '../lib/page.js';
import { learn, say } from '../lib/words.js';

learn({
  open_failed: [
    'The app did not confirm who you are. Try again, or sign in on its page.',
    '应用未能确认您的身份。请重试，或前往其登录页登录。',
  ],
});

/** How long the platform's script and the app may take, together: on the first visit the app may ask the user. */
const SCRIPT_TIMEOUT_MS = 60000;
/** The number of attempts, since only the last one counts. */
let turns = 0;

/** What the address asks for: a scanned code (`sid`), or the page to return to (`to`). Kept for a reload. */
function wanted() {
  const fragment = takeFragment();
  if (fragment.has('sid') || fragment.has('to')) tab.set('open', fragment.toString());
  return new URLSearchParams(tab.get('open') || '');
}

async function begin() {
  const mine = (turns += 1);
  const given = wanted();
  show('loading');
  $('again').onclick = begin;
  $('by-page').onclick = () => goByPage(given);
  const sid = given.get('sid');
  const answer = await get(`/api/auth/oauth2/script${sid ? `?${new URLSearchParams({ sid })}` : ''}`);
  if (mine !== turns) return;
  if (answer.code !== 0) {
    fail(answer.message);
    return;
  }
  const code = await inTime(codeFrom(answer.data)).catch(() => '');
  if (mine !== turns) return;
  if (code) goOn(code, answer.data.state);
  else fail(say('open_failed'));
}

/** Runs the platform's script, and the module that knows how to ask it. */
async function codeFrom({ script_url, module_url, parameters }) {
  const [{ requestCode }] = await Promise.all([import(module_url), loaded(script_url)]);
  return String((await requestCode(parameters)) || '');
}

/** Loads a script of another origin. One that failed is loaded again. */
function loaded(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.onload = resolve;
    script.onerror = () => {
      script.remove();
      reject(new Error('not loaded'));
    };
    document.head.append(script);
  });
}

function inTime(work) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error('too late')), SCRIPT_TIMEOUT_MS);
  });
  return Promise.race([work, late]);
}

/** Returns to the service. This page is not kept in the history: its code is used up. */
function goOn(code, state) {
  tab.drop('open');
  location.replace(`/api/auth/oauth2/callback?${new URLSearchParams({ code, state, entry: 'script' })}`);
}

/** Goes on without the script, at the platform's ordinary page. */
async function goByPage(given) {
  if (given.has('sid')) {
    location.assign(`/api/auth/qrcode/open?${new URLSearchParams({ sid: given.get('sid'), entry: 'browser' })}`);
    return;
  }
  $('by-page').disabled = true;
  // Without a page to return to, the role decides.
  const answer = await startOAuth('web', given.get('to') || `${location.origin}/api/auth/oauth2/callback`);
  if (answer.code === 0) leave(answer.data.authorize_url, (url) => location.assign(url));
  else tell('failed-text', answer.message);
  $('by-page').disabled = false;
}

function fail(text) {
  tell('failed-text', text);
  show('failed');
}

open(begin);
