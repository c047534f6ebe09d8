// Offers the session of another tab on the sign-in page, so that a new tab does not ask for a sign-in.

import { $, tell } from '../lib/page.js';
import { masked } from '../lib/qr.js';
import { askForSession } from '../lib/tabs.js';
import { say } from '../lib/words.js';

let stop = () => {};

/** Asks the other tabs, and offers what they have; `signedIn` gets the token after a press. */
export function offerOtherTab(signedIn) {
  withdrawOtherTab();
  stop = askForSession((name, take) => {
    tell('other-tab-text', say('other_tab', { name: masked(name) }));
    $('use-session').hidden = false;
    $('use-session').onclick = () => use(take, signedIn);
    show(true);
  });
}

/** Withdraws the offer. */
export function withdrawOtherTab() {
  stop();
  stop = () => {};
  show(false);
}

function show(isOffered) {
  $('other-tab').hidden = !isOffered;
  document.body.classList.toggle('has-offer', isOffered);
  // Why a new tab asks at all.
  $('per-tab').hidden = isOffered;
}

async function use(take, signedIn) {
  $('use-session').disabled = true;
  const token = await take();
  $('use-session').disabled = false;
  if (token) {
    signedIn(token);
    return;
  }
  offerOtherTab(signedIn);
  tell('other-tab-text', say('other_tab_gone'));
  $('use-session').hidden = true;
  $('other-tab').hidden = false;
}
