// One message, by its kind.

import { fill, h, hostOf } from '../lib/dom.js';
import { moment } from '../components/listing.js';
import { repliesOn, replyState } from './reply.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  message_writing: ['being written', '正在输入'],
  message_broken: ['Part of this text was lost in transit.', '这段文字在传输中有缺失。'],
  message_options: ['Options', '可选项'],
  message_own: ['You', '您'],
  message_open: ['Open', '打开'],
  message_card: ['Your device', '您的设备'],
  card_device: ['Device', '设备'],
  card_model: ['Model', '型号'],
  card_os: ['System', '系统'],
  card_step: ['Step', '步骤'],
  card_status: ['Status', '状态'],
  card_owner: ['Owner', '使用者'],
});

const DRAWERS = { typewriter: writing, ai_structured: choices, dynamic_recommend: hint, byod_card: card, own };

/** Makes the list item; it has `redraw()` for when the message changed. `choose(at)` sends the option at a position. */
export function draw(entry, choose) {
  const item = h('li', { class: `message ${entry.kind}`, 'data-kind': entry.kind, 'data-id': entry.stream || entry.id });
  item.redraw = () => {
    const { option } = item.contains(document.activeElement) ? document.activeElement.dataset : {};
    fill(item, DRAWERS[entry.kind](entry, choose), entry.at && h('small', { class: 'at' }, moment(entry.at)));
    if (option) item.querySelector(`[data-option="${option}"]`)?.focus();
  };
  item.redraw();
  return item;
}

// A text has its own direction, and must not affect the texts around it.
const text = (words) => words && h('p', { class: 'words', dir: 'auto' }, words);

const pairs = (fields) =>
  fields.length > 0 &&
  h(
    'dl',
    {},
    fields.map(([name, value]) => h('div', {}, h('dt', { dir: 'auto' }, nameOf(name)), h('dd', { dir: 'auto' }, value))),
  );

function nameOf(name) {
  const known = sayOr(`card_${name}`);
  return known === `card_${name}` ? name.replaceAll('_', ' ') : known;
}

// The sender chooses the label; the host is where the link leads.
const linkTo = ({ label, address }, attributes = {}) =>
  h(
    'a',
    { href: address, target: '_blank', rel: 'noopener noreferrer', ...attributes },
    h('span', { dir: 'auto' }, label || say('message_open')),
    ' ',
    h('small', { class: 'host', dir: 'ltr' }, hostOf(address)),
  );

function writing({ text: words, done, whole }) {
  return [
    h(
      'p',
      { class: done ? 'words' : 'words growing', dir: 'auto', 'data-done': String(Boolean(done)) },
      words,
      !done && h('span', { class: 'unseen' }, ` (${say('message_writing')})`),
    ),
    !whole && h('p', { class: 'hint' }, say('message_broken')),
  ];
}

function choices(entry, choose) {
  const { options, reply } = entry;
  const settled = reply === 'sending' || reply === 'sent';
  // A button that is disabled would lose the focus.
  const button = ({ label }, at) =>
    h(
      'button',
      {
        class: 'button small',
        type: 'button',
        dir: 'auto',
        'data-option': at,
        'aria-pressed': String(settled && entry.chosen === at),
        'aria-disabled': settled && 'true',
        onclick: () => choose(at),
      },
      label,
    );
  const all = repliesOn
    ? h('div', { class: 'row options', role: 'group', 'aria-label': say('message_options') }, options.map(button))
    : h('ul', { class: 'plain-options', 'aria-label': say('message_options') }, options.map(({ label }) => h('li', { dir: 'auto' }, label)));
  return [
    text(entry.text) || (!options.length && leftovers(entry)),
    options.length > 0 && all,
    reply && h('p', { class: reply === 'failed' ? 'refusal' : 'hint', 'data-reply': reply }, replyState(entry)),
  ];
}

function own({ text: words }) {
  return [h('span', { class: 'unseen' }, say('message_own')), text(words)];
}

function hint({ title, text: words, links, fields }) {
  const [link] = links;
  const named = title || (link && link.label) || words;
  return [
    h('p', { class: 'title' }, link ? linkTo({ ...link, label: named }) : h('span', { dir: 'auto' }, named)),
    named !== words && text(words),
    !words && pairs(fields),
  ];
}

function card({ title, text: words, fields, links }) {
  return [
    h('p', { class: 'title', dir: 'auto' }, title || say('message_card')),
    text(words),
    pairs(fields),
    links.length > 0 &&
      h(
        'div',
        { class: 'row' },
        links.map((link) => linkTo({ ...link, label: link.own ? '' : link.label }, { class: 'button small' })),
      ),
  ];
}

const leftovers = ({ fields, links }) => [pairs(fields), links.map((link) => linkTo(link))];
