// The messages of the help desk as they arrive.

import { fill, h } from '../lib/dom.js';
import { draw } from './message.js';
import { repliesOn, replyForm, replyState, sendOption } from './reply.js';
import { learn, say } from '../lib/words.js';

learn({
  messages_lead: ['Messages from the help desk appear here live. This page is read-only.', '服务台发送的消息会实时显示在这里。本页面仅供查看。'],
  messages_lead_reply: [
    'Messages from the help desk appear here live. Choose an option or write back.',
    '服务台发送的消息会实时显示在这里。您可以选择选项或直接回复。',
  ],
  messages_empty: [
    'No messages yet. Messages, options and cards from the help desk appear here while this page is open.',
    '暂无消息。本页面打开期间，服务台的消息、选项和卡片会显示在这里。',
  ],
  messages_stream: ['Messages', '消息'],
  recommended: ['Recommended', '推荐内容'],
  recommended_empty: ['Related articles and tips appear here.', '相关的文章和提示会显示在这里。'],
  thinking: ['The help desk is writing…', '服务台正在输入…'],
});

const AT_THE_END = 48;
const HINTS = 12;

/** Shows the messages received so far, and new ones. */
export function show(desk, place) {
  const { inbox } = desk;
  const view = {
    list: h('ol', { class: 'stream', id: 'stream' }),
    aside: h('ol', { class: 'hints', id: 'recommended' }),
    thinking: h(
      'p',
      { class: 'thinking', id: 'thinking', hidden: true },
      h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')),
      say('thinking'),
    ),
    empty: h('p', { class: 'lead empty' }, say('messages_empty')),
    noHints: h('p', { class: 'lead empty' }, say('recommended_empty')),
    announcement: h('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' }),
    form: repliesOn ? replyForm(desk) : null,
    choose: (entry) => (at) => sendOption(desk, entry, at),
    shown: new Map(),
    dirty: new Set(),
  };
  view.scroll = h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': say('messages_stream') },
    view.empty,
    view.list,
    view.thinking,
  );
  place.append(
    h('p', { class: 'lead' }, say(repliesOn ? 'messages_lead_reply' : 'messages_lead')),
    h(
      'div',
      { class: 'talk' },
      h('div', { class: 'panel' }, view.scroll, view.form),
      h('aside', { class: 'panel', 'aria-label': say('recommended') }, h('h2', {}, say('recommended')), view.noHints, view.aside),
    ),
    view.announcement,
  );
  const flush = () => {
    view.due = 0;
    refresh(view, inbox);
  };
  const stop = inbox.open((entry) => {
    if (entry) view.dirty.add(entry);
    announce(view, entry);
    // A text may grow many times between two frames of the screen.
    view.due = view.due || requestAnimationFrame(flush);
  });
  refresh(view, inbox);
  view.scroll.scrollTop = view.scroll.scrollHeight;
  return () => {
    stop();
    cancelAnimationFrame(view.due);
  };
}

function refresh(view, inbox) {
  const { scroll } = view;
  const atTheEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < AT_THE_END;
  view.shown.forEach((element, entry) => {
    if (!entry.gone) return;
    element.remove();
    view.shown.delete(entry);
  });
  inbox.entries.forEach((entry) => {
    if (!view.shown.has(entry)) add(view, entry);
    else if (view.dirty.has(entry) || entry.whole === false) view.shown.get(entry).redraw();
  });
  view.dirty.clear();
  view.thinking.hidden = !inbox.thinking.size;
  view.empty.hidden = view.list.children.length > 0 || inbox.thinking.size > 0;
  if (view.form) view.form.hidden = !inbox.latestId();
  view.noHints.hidden = view.aside.children.length > 0;
  // A user who has scrolled up stays there.
  if (atTheEnd) scroll.scrollTop = scroll.scrollHeight;
}

function add(view, entry) {
  const element = draw(entry, view.choose(entry));
  view.shown.set(entry, element);
  if (entry.kind === 'dynamic_recommend') addHint(view, element);
  else view.list.append(element);
}

/** Adds a hint at the top, and removes the oldest. */
function addHint({ aside }, element) {
  aside.prepend(element);
  if (aside.children.length > HINTS) aside.lastChild.remove();
}

/** Announces each message once, when it is complete: a growing text would be read again and again. */
function announce(view, entry) {
  if (!entry || (entry.kind === 'typewriter' && !entry.done)) return;
  // The user knows their own text, and hears that it was sent.
  const state = entry.kind === 'own' ? say('reply_sent') : replyState(entry);
  const text = state || [entry.title, entry.text].filter(Boolean).join('. ');
  fill(view.announcement, text.slice(0, 1000));
}
