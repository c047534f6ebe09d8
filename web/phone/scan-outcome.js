// After the press on the phone: follows the sign-in until the computer has collected it.

import { end } from './ask.js';
import { post } from '../client/deskpass.js';
import { tab } from '../lib/page.js';
import { say } from '../lib/words.js';

/** The pause between two requests. The service itself waits for a change before it responds, unless too many wait already. */
const PAUSE_MS = 1000;
const PAUSE_AFTER_QUICK_MS = 5000;
/** A sign-in that is over, or a secret that never was one; and a node of an earlier version, which cannot tell. */
const OVER = [1002, 1019];
const NO_SUCH_PATH = 1004;
/** The service knows how a sign-in ended for at least this long; then the page cannot tell. */
const MEMORY_MS = 9 * 60 * 1000;
/** The number of sign-ins that were followed, since only the last one counts. */
let turns = 0;

/** Says that the press counted, and that the computer has not collected the sign-in yet. */
const tellConfirmed = () => end({ title: say('scan_confirmed'), text: say('scan_waiting'), pending: true });

const tellUnfinished = () => end({ title: say('scan_unfinished'), text: say('scan_unfinished_text') });

const tellUnknown = () => end({ title: say('scan_unknown'), text: say('scan_unknown_text') });

const tellDone = () => end({ title: say('scan_done'), text: say('close'), good: true });

/** Stops following: the page shows another sign-in. */
export function stopFollowing() {
  turns += 1;
}

/**
 * Follows the sign-in of this secret to its end, and says how it ended; `isConfirmed` is whether this page has just confirmed it.
 * Resolves to whether it was confirmed at all.
 */
export async function followOutcome(confirm, isConfirmed) {
  const mine = (turns += 1);
  let seenAt = isConfirmed ? Date.now() : 0;
  if (isConfirmed) tellConfirmed();
  for (;;) {
    const askedAt = Date.now();
    const answer = await post('/api/auth/scan/outcome', { confirm, wait: seenAt > 0 });
    if (mine !== turns) return true;
    const status = answer.code === 0 && answer.data.status;
    const [isOver, isUnknown] = [OVER.includes(answer.code), answer.code === NO_SUCH_PATH];
    if (status === 'undecided' || ((isOver || isUnknown) && !seenAt)) return false;
    if (status === 'signed_in' || isOver || isUnknown) {
      finish(status, isUnknown ? 0 : seenAt);
      return true;
    }
    const isQuick = seenAt > 0 && Date.now() - askedAt < PAUSE_MS;
    if (status === 'confirmed') {
      if (!seenAt) tellConfirmed();
      seenAt = Date.now();
    }
    // Without a response the page tries again: the network may be back.
    await pause(Math.max(isQuick ? PAUSE_AFTER_QUICK_MS : PAUSE_MS, answer.wait * 1000));
  }
}

function finish(status, seenAt) {
  tab.drop('confirm');
  if (status === 'signed_in') tellDone();
  else if (Date.now() - seenAt < MEMORY_MS) tellUnfinished();
  else tellUnknown();
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
