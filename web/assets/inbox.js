// The messages received while the page is open, whichever view is shown.

import { linksOf, fieldsOf, optionsOf, plain, textOf } from './content.js';
import { Typewriter } from './typewriter.js';

const KEPT = 200;
const PATIENCE = 30000;
const READERS = {
  ai_structured: (content) => ({ text: textOf(content, 'text', 'message', 'title', 'summary'), options: optionsOf(content) }),
  dynamic_recommend: (content) => ({ title: textOf(content, 'title'), text: textOf(content, 'text', 'summary', 'description') }),
  byod_card: (content) => ({ title: textOf(content, 'title'), text: textOf(content, 'text', 'message', 'summary') }),
};

/** Keeps the latest messages, each `{kind, at, …}`, and calls `onChange(entry)` for new or changed ones; null means all. */
export class Inbox {
  constructor() {
    this.entries = [];
    this.thinking = new Map();
    this.typewriter = new Typewriter();
    this.unread = 0;
    this.onChange = null;
    this.onUnread = () => {};
  }

  /** Takes a frame of the socket; null is a gap. Unknown kinds are ignored. */
  take(frame) {
    if (!frame) this.gap();
    else if (frame.msg_type === 'ai_thinking') this.think(conversationOf(frame));
    else if (frame.msg_type === 'typewriter') this.write(frame);
    else if (Object.prototype.hasOwnProperty.call(READERS, frame.msg_type))
      this.add(frame, READERS[frame.msg_type](frame.content));
  }

  add(frame, read) {
    const { content, extra_data, id } = frame;
    const common = {
      kind: frame.msg_type,
      id,
      at: frame.ts,
      content,
      extra_data,
      fields: fieldsOf(content),
      links: linksOf(content),
    };
    const entry = { ...common, ...read };
    if (entry.kind !== 'dynamic_recommend') this.answered(conversationOf(frame));
    if (hasSomething(entry)) this.keep(entry);
  }

  keep(entry) {
    this.entries.push(entry);
    if (this.entries.length > KEPT) this.entries.shift().gone = true;
    this.changed(entry);
    if (this.onChange) return;
    this.unread += 1;
    this.onUnread(this.unread);
  }

  write(frame) {
    const update = this.typewriter.take(frame);
    if (!update) return;
    this.answered(conversationOf(frame));
    const known = this.entries.find((entry) => entry.stream === update.stream_id && !entry.done);
    const entry = known || { kind: 'typewriter', stream: update.stream_id, at: frame.ts, before: '', whole: true };
    entry.text = entry.before + plain(update.text, Infinity);
    entry.done = update.done;
    entry.whole = entry.whole && update.whole;
    if (known) this.changed(entry);
    else this.keep(entry);
  }

  /** Marks texts in progress as incomplete, since something may be missing; they continue after the gap. */
  gap() {
    this.typewriter.forget();
    this.entries
      .filter(({ stream, done }) => stream && !done)
      .forEach((entry) => {
        entry.whole = false;
        entry.before = `${entry.text} […] `;
      });
    this.changed(null);
  }

  think(conversation) {
    clearTimeout(this.thinking.get(conversation));
    this.thinking.set(
      conversation,
      setTimeout(() => this.answered(conversation), PATIENCE),
    );
    this.changed(null);
  }

  /** An answer without a conversation ends all waiting: no indicator is better than a wrong one. */
  answered(conversation) {
    const over = conversation ? [conversation] : [...this.thinking.keys()];
    over.forEach((one) => {
      clearTimeout(this.thinking.get(one));
      this.thinking.delete(one);
    });
    this.changed(null);
  }

  changed(entry) {
    if (this.onChange) this.onChange(entry);
  }

  /** Subscribes a view; returns a function that unsubscribes it. */
  open(onChange) {
    this.onChange = onChange;
    this.unread = 0;
    this.onUnread(0);
    return () => {
      this.onChange = null;
    };
  }

  close() {
    this.thinking.forEach((timer) => clearTimeout(timer));
    this.thinking.clear();
  }
}

const hasSomething = ({ title, text, fields, links, options = [] }) =>
  Boolean(title || text || fields.length || links.length || options.length);

function conversationOf({ content, extra_data }) {
  const named = [content, extra_data].map((part) => part && plain(part.conversation_id, 200));
  return named.find(Boolean) || '';
}
