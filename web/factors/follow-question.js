// A question that a phone answers: the number to pick there, the time that is left, and the answer.

import { h } from '../lib/dom.js';
import { learn, say } from '../lib/words.js';

learn({
  number_shown: ['Number', '数字'],
});

const POLL_MS = 1000;
/** How long after its end a question whose status cannot be read counts as expired. */
const SLACK_MS = 5000;

/** The number in large digits. */
export const bigNumber = (number) =>
  h('p', { class: 'big-number' }, h('span', { class: 'unseen' }, `${say('number_shown')} `), h('strong', {}, String(number)));

/** A time span as minutes and seconds. */
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

/**
 * Follows a question that can be answered until `until`, in milliseconds. `read()` resolves to a response with its status, and is
 * called every second; `onTime(seconds)` gets the time that is left, `onTrouble(text)` why the status cannot be read or nothing,
 * and `onAnswer(status)` the final status, once. Ends by itself once `isShown()` is false. Returns a function that ends it.
 */
export function followQuestion({ until, read, isShown, onTime, onTrouble, onAnswer }) {
  let timer = 0;
  let isOver = false;
  const tick = () => onTime(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
  const ticking = setInterval(tick, 1000);
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    clearInterval(ticking);
  };
  const look = async () => {
    const { code, message, data } = await read();
    if (isOver) return;
    const unread = Date.now() > until + SLACK_MS ? 'expired' : 'pending';
    const status = code === 0 ? data.status : unread;
    if (!isShown() || status !== 'pending') stop();
    if (!isShown()) return;
    onTrouble(code === 0 ? '' : message);
    if (isOver) onAnswer(status);
    else timer = setTimeout(look, POLL_MS);
  };
  tick();
  look();
  return stop;
}
