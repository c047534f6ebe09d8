// The notice above the sign-in: what happened, and what helps next.

import { $, tell } from '../lib/page.js';

/** Shows a notice, as an error where it has a title, with a button for `again` where that helps; nothing without a text. */
export function notice({ title = '', text = '', ref = '', again = null }) {
  tell('notice-title', title);
  tell('notice-text', text);
  tell('notice-ref', ref);
  $('try-again').hidden = !again;
  $('try-again').onclick = again;
  $('notice').hidden = !text;
  document.body.classList.toggle('has-retry', Boolean(text && again));
  $('notice').classList.toggle('bad', Boolean(title));
}
