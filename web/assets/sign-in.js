// The sign-in page: says what the address brought, offers the ways in, and hands over to the desk once somebody is in.

import { get, post, startOAuth, takeFragment, tradeTicket } from './deskpass.js';
import { $, explain, inWeCom, known, leave, onPhone, open, show, tab, tell } from './page.js';
import { showCode, stopCode } from './qr.js';
import { say } from './words.js';

const client = known(location.pathname.split('/')[1]);
const REFUSED = 1003;
const DOWN = ['unreachable', 'suspended', 'refused'];
/** How long somebody who went to sign in again may be away. */
const AWAY = 10 * 60 * 1000;
/** The desk behind this page, once somebody is in; and how often it was asked for, since the last time counts. */
let [desk, turns] = [null, 0];

/** Looks at what the address brought and goes on from there. */
async function arrive() {
  const query = new URLSearchParams(location.search);
  const fragment = takeFragment();
  // Whoever is in stays in, wherever an address leads: only a ticket that is good brings somebody else.
  if (desk && !query.has('code') && !fragment.has('ticket')) return;
  const isSignedIn = Boolean(desk || tab.get('token'));
  if (isSignedIn && (fragment.has('bind_ticket') || (query.has('code') && !isOwnAnswer(query)))) {
    // Anybody can write such a link: where somebody is signed in, only what this tab itself set out for is let through.
    history.replaceState(null, '', location.pathname);
    await stay({ text: say('again_not') });
  } else if (query.has('code') && query.has('state')) {
    const pass = new URLSearchParams({ code: query.get('code'), state: query.get('state') });
    location.replace(`/api/auth/oauth2/callback?${pass}`);
  } else if (fragment.has('ticket')) {
    await trade(fragment.get('ticket'));
  } else if (fragment.has('bind_ticket')) {
    askWho(fragment.get('bind_ticket'), fragment.get('scanned') === '1');
  } else if (fragment.has('error')) {
    await stay(explain(fragment));
  } else if (query.has('state')) {
    // The platform's way to say that the person refused: a state without a code.
    history.replaceState(null, '', location.pathname);
    isOwnAnswer(query);
    await stay(explain(new URLSearchParams('error=denied')));
  } else if (tab.get('token')) {
    show('loading');
    await signedIn(tab.get('token'));
  } else {
    welcome();
    // Inside WeCom there is nothing to choose. Once only: whoever comes back from there wanted to.
    if (inWeCom && !tab.get('went')) await goToPlatform($('wecom'), 'client');
  }
}

async function trade(ticket) {
  const answer = await tradeTicket(ticket);
  if (answer.code !== 0) await stay({ text: answer.message });
  else if (answer.data.token) await takeOver(answer.data.token);
  else await stay({ text: say('ticket_gone') });
}

/** A new session, perhaps of somebody who signed in again to go on where they were; one of somebody else does not count then. */
async function takeOver(token) {
  if (!tab.get('again')) {
    await signedIn(token);
    return;
  }
  show('loading');
  const { resumed } = await loaded(() => import('./sign-in-again.js'));
  const outcome = await resumed(token);
  await signedIn(outcome.token);
  if (desk && outcome.why) desk.say(outcome.why, true);
}

/** Whether this tab set out itself, minutes ago, to sign the same person in again, and this may be the answer. There is one. */
function isOwnAnswer(query) {
  const kept = JSON.parse(tab.get('again') || '{}');
  if (!kept.at || kept.isBack || !query.has('state')) return false;
  tab.set('again', JSON.stringify({ ...kept, isBack: true }));
  return Date.now() - kept.at <= AWAY;
}

/** Whether this tab has just come back from signing in again without a session: then it goes on at the place that it left. */
function isBackInVain() {
  const kept = JSON.parse(tab.get('again') || '{}');
  if (!kept.isBack || kept.isOver) return false;
  // Not forgotten: should a session come after all, whose it is has still to be looked at.
  tab.set('again', JSON.stringify({ ...kept, isOver: true }));
  if (String(kept.hash).startsWith('#/')) history.replaceState(null, '', location.pathname + kept.hash);
  return true;
}

/** Nobody new was signed in: whoever was before still is, and a link must not make them believe otherwise. */
async function stay(why) {
  if (!desk && !tab.get('token')) {
    welcome(why);
    return;
  }
  const inVain = isBackInVain();
  if (!desk) {
    show('loading');
    await signedIn(tab.get('token'));
  }
  if (desk && inVain) desk.say([why.title, why.text, why.ref].filter(Boolean).join(' · '), true);
}

/** What a browser kept of this page as it was: nothing of it stays if somebody has signed out since. */
function restored() {
  if (desk && tab.get('token') !== desk.token) {
    desk.close();
    desk = null;
  }
  arrive();
}

async function signedIn(token, next = {}) {
  const mine = (turns += 1);
  if (tab.get('token') !== token) tab.drop('me');
  tab.set('token', token);
  tab.drop('went');
  notice(next);
  if (desk) desk.close();
  desk = null;
  const { openDesk } = await loaded(() => import('./desk.js'));
  const again = () => {
    show('loading');
    signedIn(token, next);
  };
  const isStale = () => mine !== turns;
  const opened = await openDesk({ token, client, chosen: location.pathname !== '/', onEnd: signedOut, again, isStale });
  if (isStale()) return;
  desk = opened;
  if (desk) stopCode();
}

/** A part of this page. A browser remembers that it could not be had, so only loading the page again helps then. */
function loaded(load) {
  return load().catch(() => {
    tell('trouble-text', say('not_loaded_page'));
    $('again').onclick = () => location.reload();
    show('trouble');
    return new Promise(() => {});
  });
}

function signedOut(why) {
  desk = null;
  tab.drop('token');
  tab.drop('me');
  tab.drop('again');
  // Whoever went out must not be taken in again at once.
  tab.set('went', '1');
  welcome({ text: why });
}

function welcome(why = {}) {
  notice(why);
  show('welcome');
  if ($('code').open && !inWeCom) showCode(client, signedIn);
  lookForPlatform(why);
}

/** Says in time that there is no use in scanning, and what agents can do instead. */
async function lookForPlatform(why) {
  const came = why.word === 'platform_unavailable';
  document.body.classList.toggle('platform-down', came);
  const { data } = await get('/api/ready');
  const down = Boolean(data && data.dependencies && DOWN.includes(data.dependencies.platform));
  document.body.classList.toggle('platform-down', came || down);
  if (down && !why.text) notice(explain(new URLSearchParams('error=platform_unavailable')));
}

function notice({ title = '', text = '', ref = '' }) {
  tell('notice-title', title);
  tell('notice-text', text);
  tell('notice-ref', ref);
  $('notice').hidden = !text;
  $('notice').classList.toggle('bad', Boolean(title));
}

/** Goes to the platform and comes back to this page. */
async function goToPlatform(button, mode) {
  button.disabled = true;
  tab.set('went', '1');
  const answer = await startOAuth(mode);
  if (answer.code === 0) leave(answer.data.authorize_url, (url) => location.assign(url));
  else notice({ title: say('trouble'), text: firstProblem(answer) });
  button.disabled = false;
}

/** What is wrong with a field says more than that some field is wrong. */
function firstProblem({ message, data }) {
  const [first] = Object.values((data && data.fields) || {});
  return first ? String(first) : message;
}

/** Asks which employee this is; who `scanned` a computer's code has to do so again afterwards. */
function askWho(proof, scanned) {
  const next = scanned ? say('scan_again') : '';
  if (desk) desk.close();
  desk = null;
  stopCode();
  notice({});
  tell('bind-scan', next);
  show('bind');
  $('bind-form').onsubmit = async (event) => {
    event.preventDefault();
    tell('bind-refusal', '');
    $('bind-submit').disabled = true;
    const answer = await post('/api/auth/bind', { employee_id: $('employee-id').value.trim(), bind_ticket: proof });
    $('bind-submit').disabled = false;
    if (answer.code === 0) await signedIn(answer.data.token, { text: next });
    else tell('bind-refusal', whyNot(answer));
  };
}

/** The desk does not tell which part was wrong, so that nobody can try out IDs: we tell what to do next. */
function whyNot({ code, message, data }) {
  const roleless = data && data.reason === 'no_role';
  return code === REFUSED && !roleless ? say('bind_refused') : message;
}

async function askPassword() {
  $('by-password').disabled = true;
  const { showPassword } = await loaded(() => import('./password.js'));
  stopCode();
  notice({});
  await showPassword($('password'), { signedIn, back: () => welcome() });
  $('by-password').disabled = false;
}

function dress() {
  document.body.classList.toggle('in-wecom', inWeCom);
  $('bind-other').href = location.pathname;
  $('here').onclick = () => goToPlatform($('here'), 'web');
  $('wecom').onclick = () => goToPlatform($('wecom'), 'client');
  $('by-password').onclick = askPassword;
  $('renew').onclick = () => {
    $('welcome-title').focus();
    showCode(client, signedIn);
  };
  window.addEventListener('online', goOn);
  offerCode();
}

/** The network is back: what failed for want of it is tried again. */
function goOn() {
  if (document.body.dataset.view === 'trouble') $('again').click();
  else if (document.body.dataset.view === 'welcome' && $('welcome').dataset.state === 'failed') showCode(client, signedIn);
}

/** Nobody can scan the phone in their hand: there the code is for another phone, and waits to be asked for. */
function offerCode() {
  const code = $('code');
  if (inWeCom || onPhone) code.open = false;
  if (onPhone) code.ontoggle = () => (code.open ? showCode(client, signedIn) : stopCode());
}

dress();
open(arrive, restored);
