// The numbers of which a user picks the one that a screen shows, or that a person on the telephone reads out.

import { $, fill, h } from '../lib/dom.js';

/** Offers a large button for each number, under a title; `pick` gets the number. Returns what `ask` guards. */
export function offerNumbers(title, choices, pick) {
  const yes = choices.map((number) =>
    h('button', { class: 'button main', type: 'button', disabled: true, onclick: () => pick(number) }, String(number)));
  $('pick-text').textContent = title;
  fill($('numbers'), yes);
  $('pick').hidden = false;
  return { yes, label: $('pick-wait') };
}

/** Offers no numbers. */
export function withdrawNumbers() {
  $('pick').hidden = true;
  fill($('numbers'));
}
