// The recovery codes: shown once, to be printed, copied or saved.

import './device-words.js';
import { h } from '../lib/dom.js';
import { copy } from '../components/listing.js';
import { saveFile } from '../components/save-file.js';
import { language, say } from '../lib/words.js';

/** The content to show; `tell(text, bad)` shows a message, and `done()` is called once the user has confirmed to have the codes.
   */
export function recoveryCodes(codes, { owner, tell, done }) {
  const paper = say('codes_paper', { owner, day: new Date().toLocaleDateString(language) });
  const text = [paper, '', ...codes, ''].join('\r\n');
  return [
    h('p', { class: 'lead' }, say('codes_lead')),
    h('section', { class: 'recovery', 'aria-label': say('codes_label') },
      h('p', { class: 'on-paper' }, paper),
      h('ol', { id: 'recovery-codes' }, codes.map((code) => h('li', {}, h('code', {}, code))))),
    h('div', { class: 'row' },
      act('print', printCodes),
      act('copy', () => copy({ say: tell }, codes.join('\n'))),
      act('save', () => saveFile(new Blob([text], { type: 'text/plain' }), 'deskpass-recovery-codes.txt'))),
    confirmed(done),
  ];
}

const act = (name, run) =>
  h('button', { class: 'button small', type: 'button', 'data-act': name, onclick: run }, say(`codes_${name}`));

function confirmed(done) {
  const seen = h('input', { type: 'checkbox', id: 'codes-seen' });
  const look = { class: 'button main', id: 'codes-done', type: 'button', disabled: true };
  const on = h('button', { ...look, onclick: done }, say('codes_done'));
  seen.onchange = () => {
    on.disabled = !seen.checked;
  };
  return [h('label', { class: 'check' }, seen, say('codes_seen')), on];
}

/** Prints only the codes. */
function printCodes() {
  document.body.classList.add('printing-codes');
  window.addEventListener('afterprint', () => document.body.classList.remove('printing-codes'), { once: true });
  window.print();
}
