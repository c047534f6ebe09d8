// The list of networks of one role, one network per line.

import { fill, h } from '../lib/dom.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  from_anywhere: ['Empty: allowed from anywhere.', '名单为空：不限网络。'],
  only_from_one: ['Only from this network.', '仅限此网络。'],
  only_from: ['Only from these {count} networks.', '仅限以下 {count} 个网络。'],
  line: ['Line {line}', '第 {line} 行'],
});

// The service quotes each invalid line with the reason: the parts are matched to their lines.
const PIECE = /"(?:[^"\\]|\\.)*".*?(?=[;；]\s*"|$)/g;

/**
 * An editor of the list of a role. `networks()` returns the lines, `tell(why)` shows the errors of the service, `add` appends a
 * line; `touched` is called at every change.
 */
export function editor(role, networks, touched) {
  const id = `list-${role}`;
  const state = h('p', { class: 'hint', id: `${id}-state` });
  const wrong = h('div', { id: `${id}-wrong`, role: 'alert' });
  const text = h('textarea', {
    id, class: 'mono', rows: Math.min(12, Math.max(3, networks.length + 1)), 'aria-describedby': `${id}-state ${id}-wrong`,
    spellcheck: 'false', autocapitalize: 'none', autocorrect: 'off', autocomplete: 'off',
  });
  text.value = networks.join('\n');
  const list = {
    role,
    element: h('div', { class: 'field', 'data-role': role }, h('label', { for: id }, sayOr(role)), text, state, wrong),
    networks: () => text.value.split('\n').map((line) => line.trim()).filter(Boolean),
    tell: (why) => tell(text, wrong, why),
    focus: () => text.focus(),
    add: (network) => {
      text.value = [...list.networks(), network].join('\n');
      changed();
      text.focus();
    },
  };
  const changed = () => {
    state.textContent = inWords(list.networks().length);
    list.tell('');
    touched();
  };
  text.oninput = changed;
  state.textContent = inWords(networks.length);
  return list;
}

function inWords(count) {
  if (count === 0) return say('from_anywhere');
  return count === 1 ? say('only_from_one') : say('only_from', { count });
}

function tell(text, wrong, why) {
  if (why) text.setAttribute('aria-invalid', 'true');
  else text.removeAttribute('aria-invalid');
  const pieces = why.match(PIECE) || (why ? [why] : []);
  const item = (piece) => h('li', {}, lineButton(text, piece), h('span', {}, piece));
  fill(wrong, why && h('ul', { class: 'wrong' }, pieces.map(item)));
}

/** A button that leads to the line of an error. */
function lineButton(text, piece) {
  const lines = text.value.split('\n');
  const at = lines.findIndex((line) => line.trim() && piece.startsWith(`${JSON.stringify(line.trim())} `));
  if (at < 0) return null;
  const from = lines.slice(0, at).join('\n').length + (at > 0 ? 1 : 0);
  const lead = () => {
    text.focus();
    text.setSelectionRange(from, from + lines[at].length);
  };
  return h('button', { class: 'plain', type: 'button', 'data-line': at + 1, onclick: lead }, say('line', { line: at + 1 }));
}
