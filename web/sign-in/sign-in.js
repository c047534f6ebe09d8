// The sign-in page: shows the result from the address, offers the sign-in methods, and opens the signed-in page.

import { post, returnFromPlatform, startOAuth, takeFragment, tradeTicket } from '../client/deskpass.js';
import { dropCode, keptCode } from '../lib/kept-code.js';
import { notice } from './notice.js';
import { offerOtherTab, withdrawOtherTab } from './other-tab.js';
import { lookForOutage } from './outage.js';
import { $, explain, inPlatform, known, leave, onPhone, open, show, tab, tell } from '../lib/page.js';
import { showCode, stopCode } from '../lib/qr.js';
import { say } from '../lib/words.js';

const client = known(location.pathname.split('/')[1]);
/** The request of another program that the user is to sign in for; and what the codes of this page are for. */
const request = new URLSearchParams(location.search).get('request');
const purpose = request || client;
/** This page without what the platform added to its address. */
const here = location.pathname + (request ? `?${new URLSearchParams({ request })}` : '');
const REFUSED = 1003;
/** How long a user who left to sign in again may be away. */
const AWAY = 10 * 60 * 1000;
/** The page behind the sign-in, once a user is signed in; and the number of attempts, since only the last one counts. */
let [desk, turns] = [null, 0];
/** The sign-in for another program, once its request was read. Then no user becomes signed in to this tab. */
let oidc = null;

/** Reads the address and continues from there. */
async function arrive() {
  const query = new URLSearchParams(location.search);
  const fragment = takeFragment();
  if (query.has('request') || query.has('logout')) {
    await arriveForProgram(query, fragment);
    return;
  }
  // A signed-in user stays signed in, whatever the address says: only a valid ticket changes the user.
  if (desk && !query.has('code') && !fragment.has('ticket')) return;
  const isSignedIn = Boolean(desk || tab.get('token'));
  if (isSignedIn && (fragment.has('bind_ticket') || (query.has('code') && !isOwnAnswer(query)))) {
    // Such links can be forged: in a signed-in tab only the answer to the tab's own request is accepted.
    history.replaceState(null, '', location.pathname);
    await stay({ text: say('again_not') });
  } else if (query.has('code') && query.has('state')) {
    returnFromPlatform();
  } else if (fragment.has('ticket')) {
    await trade(fragment.get('ticket'));
  } else if (fragment.has('bind_ticket')) {
    askWho(fragment.get('bind_ticket'), fragment.get('scanned') === '1');
  } else if (fragment.has('error')) {
    // Some platforms return to the service and never to this page with a code: then the error is the answer.
    isOwnAnswer(new URLSearchParams('state'));
    await stay({ ...explain(fragment), again: tryAgain });
  } else if (returnFromPlatform() === 'denied') {
    isOwnAnswer(query);
    await stay({ ...explain(new URLSearchParams('error=denied')), again: tryAgain });
  } else if (tab.get('token')) {
    show('loading');
    await signedIn(tab.get('token'));
  } else {
    welcome();
    // Inside the platform's app there is nothing to choose. Only once: a user who returns from there wanted to.
    if (inPlatform && !tab.get('went')) await goToPlatform($('by-platform'), 'client');
  }
}

/** Another program sent the user here: to sign in for it, or to sign out. */
async function arriveForProgram(query, fragment) {
  const mine = (turns += 1);
  if (query.has('code') && query.has('state')) {
    returnFromPlatform();
    return;
  }
  show('loading');
  if (query.has('logout')) {
    const { askToSignOut } = await loaded(() => import('./oidc-sign-out.js'));
    askToSignOut(query.get('logout'));
    return;
  }
  const { openRequest } = await loaded(() => import('./oidc-request.js'));
  if (oidc) oidc.close();
  const opened = await openRequest(request, { signIn: signInForProgram, stop: stopSigningIn });
  if (mine !== turns || !opened) return;
  oidc = opened;
  await resumeForProgram(query, fragment);
}

/** Continues a sign-in for another program, which may have led to the platform and back. */
async function resumeForProgram(query, fragment) {
  if (fragment.has('ticket')) {
    await trade(fragment.get('ticket'));
  } else if (fragment.has('bind_ticket')) {
    askWho(fragment.get('bind_ticket'), false);
  } else if (fragment.has('error')) {
    welcome({ ...explain(fragment), again: tryAgain });
  } else if (query.has('state')) {
    // The user refused at the platform.
    history.replaceState(null, '', here);
    welcome({ ...explain(new URLSearchParams('error=denied')), again: tryAgain });
  } else {
    await oidc.begin();
  }
}

/** Offers the ways to sign in for another program; with `isFirst` a user inside the platform's app is taken there, once. */
async function signInForProgram(why, isFirst) {
  welcome(why);
  if (isFirst && inPlatform && tab.get('went') !== request) await goToPlatform($('by-platform'), 'client', true);
}

function stopSigningIn() {
  if (oidc) oidc.stopGuards();
  stopCode();
  dropCode();
  withdrawOtherTab();
  notice({});
  tab.drop('went');
  tab.drop('pressed');
}

async function trade(ticket) {
  const answer = await tradeTicket(ticket);
  if (answer.code !== 0) await stay({ text: answer.message, again: tryAgain });
  else if (answer.data.token) await takeOver(answer.data.token);
  else await stay({ text: say('ticket_gone'), again: tryAgain });
}

/** Takes a new session, perhaps of a user who signed in again to continue; then a session of another user does not count. */
async function takeOver(token) {
  if (oidc && tab.get('pressed') !== request) {
    // No press in this tab began the trip to the platform, so the user has not agreed to go on to the program.
    await oidc.askFor(token);
    return;
  }
  if (oidc || !tab.get('again')) {
    await signedIn(token);
    return;
  }
  show('loading');
  const { resumed } = await loaded(() => import('../factors/sign-in-again.js'));
  const outcome = await resumed(token);
  await signedIn(outcome.token);
  if (desk && outcome.why) desk.say(outcome.why, true);
}

/** Whether this tab itself left, minutes ago, to sign the same user in again, and this may be the answer. There is only one. */
function isOwnAnswer(query) {
  const kept = JSON.parse(tab.get('again') || '{}');
  if (!kept.at || kept.isBack || !query.has('state')) return false;
  tab.set('again', JSON.stringify({ ...kept, isBack: true }));
  return Date.now() - kept.at <= AWAY;
}

/** Whether this tab has just returned from signing in again without a session: then it continues at the place that it left. */
function isBackInVain() {
  const kept = JSON.parse(tab.get('again') || '{}');
  if (!kept.isBack || kept.isOver) return false;
  // Kept: if a session arrives after all, its user must still be checked.
  tab.set('again', JSON.stringify({ ...kept, isOver: true }));
  if (String(kept.hash).startsWith('#/')) history.replaceState(null, '', location.pathname + kept.hash);
  return true;
}

/** No new user is signed in: the previous one stays, and a link must not make the page look signed out. */
async function stay(why) {
  if (oidc || (!desk && !tab.get('token'))) {
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

/** Clears a page that the browser restored from its cache, if the user has signed out since. */
function restored() {
  if (desk && tab.get('token') !== desk.token) {
    desk.close();
    desk = null;
  }
  arrive();
}

async function signedIn(token, next = {}) {
  if (oidc) {
    await oidc.continueWith(token);
    return;
  }
  const mine = (turns += 1);
  if (tab.get('token') !== token) tab.drop('me');
  tab.set('token', token);
  tab.drop('went');
  dropCode();
  withdrawOtherTab();
  notice(next);
  if (desk) desk.close();
  desk = null;
  const { openDesk } = await loaded(() => import('../desk/desk.js'));
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

/** Loads a part of this page. A browser remembers that it could not load it, so only a reload of the page helps. */
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
  tab.drop('messages');
  tab.drop('callers');
  tab.drop('again');
  // A user who signed out must not be signed in again at once.
  tab.set('went', '1');
  welcome({ text: why });
}

function welcome(why = {}) {
  notice(why);
  show('welcome');
  if (oidc) oidc.guardTrips();
  if ($('code').open && !inPlatform) follow();
  // The session of another tab was not begun for this program: its user is asked.
  offerOtherTab(oidc ? (token) => oidc.askFor(token) : signedIn);
  lookForOutage(purpose, why, tryAgain);
}

/** Shows a QR code: after a reload the same one, unless a `fresh` one is wanted. */
const follow = (fresh = false) =>
  showCode(purpose, {
    signedIn,
    fresh,
    // The signed-in page loads while the user looks at the phone.
    onScanned: () => request || import('../desk/desk.js'),
    renewed: () => lookForOutage(purpose, {}, tryAgain),
    ended: () => oidc && oidc.endIfGone(),
    isRequest: Boolean(request),
  });

/** After a failed sign-in through the platform: the same again. */
const tryAgain = () => goToPlatform($('try-again'), inPlatform ? 'client' : 'web');

/** Goes to the platform and returns to this page; with `isAutomatic` no user pressed a button for it. */
async function goToPlatform(button, mode, isAutomatic = false) {
  button.disabled = true;
  tab.set('went', request || '1');
  tab.set('pressed', isAutomatic ? '' : request || '');
  const answer = await startOAuth(mode, location.origin + here);
  if (answer.code === 0) leave(answer.data.authorize_url, (url) => location.assign(url));
  else notice({ title: say('trouble'), text: firstProblem(answer), again: tryAgain });
  button.disabled = false;
}

/** The error of a field says more than that some field is wrong. */
function firstProblem({ message, data }) {
  const [first] = Object.values((data && data.fields) || {});
  return first ? String(first) : message;
}

/** Asks which employee this is; a user who `scanned` a computer's code has to scan again afterwards. */
function askWho(proof, scanned) {
  const next = scanned ? say('scan_again') : '';
  if (desk) desk.close();
  desk = null;
  stopCode();
  withdrawOtherTab();
  notice({});
  tell('bind-scan', next);
  show('bind');
  $('bind-form').onsubmit = async (event) => {
    event.preventDefault();
    tell('bind-refusal', '');
    $('bind-submit').disabled = true;
    const answer = await post('/api/auth/bind', { employee_id: $('employee-id').value.trim(), bind_ticket: proof });
    $('bind-submit').disabled = false;
    if (answer.code !== 0) tell('bind-refusal', whyNot(answer));
    else if (oidc) await takeOver(answer.data.token);
    else await signedIn(answer.data.token, { text: next });
  };
}

/** The service does not say which part was wrong, so that IDs cannot be guessed: the page says what to do next. */
function whyNot({ code, message, data }) {
  const roleless = data && data.reason === 'no_role';
  return code === REFUSED && !roleless ? say('bind_refused') : message;
}

async function askPassword() {
  $('by-password').disabled = true;
  const { showPassword } = await loaded(() => import('./password.js'));
  stopCode();
  withdrawOtherTab();
  notice({});
  await showPassword($('password'), { signedIn, back: () => welcome(), id: oidc ? oidc.hint : '' });
  $('by-password').disabled = false;
}

function setUp() {
  document.body.classList.toggle('in-platform', inPlatform);
  $('bind-other').href = here;
  $('here').onclick = () => goToPlatform($('here'), 'web');
  $('by-platform').onclick = () => goToPlatform($('by-platform'), 'client');
  $('by-password').onclick = askPassword;
  $('renew').onclick = () => {
    $('welcome-title').focus();
    follow(true);
  };
  window.addEventListener('online', goOn);
  offerCode();
}

/** Retries what failed without a network once the network is back. */
function goOn() {
  if (document.body.dataset.view === 'trouble') $('again').click();
  else if (document.body.dataset.view === 'welcome' && $('welcome').dataset.state === 'failed') follow();
}

/** A phone cannot scan its own screen: there the code is for another phone, and shown on request, or again after a reload. */
function offerCode() {
  const code = $('code');
  if (inPlatform || (onPhone && !keptCode(purpose))) code.open = false;
  if (onPhone) code.ontoggle = () => (code.open ? follow() : stopCode());
}

setUp();
open(arrive, restored);
