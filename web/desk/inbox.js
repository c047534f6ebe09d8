// The messages received while the page is open, whichever view is shown.

import { linksOf, fieldsOf, optionsOf, plain, textOf } from './content.js';
import { dropMessages, keepMessages, keptMessages } from './kept-messages.js';
import { Typewriter } from '../client/typewriter.js';

const KEPT = 200;
/** An answer that is announced is awaited for this long. */
const ANSWER_TIMEOUT_MS = 30000;
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
    this.lastId = '';
    /** The text that the user has begun to write, the message it replies to, and whether it is being sent. */
    this.draft = { text: '', to: '', isSending: false };
    this.onChange = null;
    this.onUnread = () => {};
  }

  /** Takes over the recent messages that this tab kept for the user, and keeps them again when the page goes. */
  restore(user) {
    const { entries, lastId } = keptMessages(user);
    this.lastId = lastId;
    // The rest of an unfinished text follows when the socket resumes; whether an unanswered request arrived is unknown.
    this.entries = entries.map((entry) => ({
      ...entry,
      before: entry.raw,
      reply: entry.reply === 'sending' ? 'failed' : entry.reply,
    }));
    this.onLeave = () => keepMessages(user, this);
    this.onHidden = () => document.visibilityState === 'hidden' && this.onLeave();
    window.addEventListener('pagehide', this.onLeave);
    document.addEventListener('visibilitychange', this.onHidden);
  }

  /** Takes a frame of the socket; null is a gap. Unknown kinds are ignored. */
  take(frame) {
    if (frame && typeof frame.id === 'string') this.lastId = frame.id;
    if (!frame) this.gap();
    else if (frame.msg_type === 'ai_thinking') this.think(conversationOf(frame));
    else if (frame.msg_type === 'typewriter') this.write(frame);
    else if (Object.prototype.hasOwnProperty.call(READERS, frame.msg_type))
      this.add(frame, READERS[frame.msg_type](frame.content));
  }

  add(frame, read) {
    const { content, id } = frame;
    const common = { kind: frame.msg_type, id, at: frame.ts, fields: fieldsOf(content), links: linksOf(content) };
    const entry = { ...common, ...read };
    if (entry.kind !== 'dynamic_recommend') this.answered(conversationOf(frame));
    if (hasSomething(entry)) this.keep(entry);
  }

  /** Adds a text that the user has sent. */
  addOwn(text) {
    this.keep({ kind: 'own', text, at: new Date().toISOString() });
  }

  /** The id of the latest message that a text can reply to; empty without one. */
  latestId() {
    const latest = [...this.entries].reverse().find(({ kind, id }) => id && kind !== 'dynamic_recommend');
    return latest ? latest.id : '';
  }

  keep(entry) {
    entry.received = Date.now();
    this.entries.push(entry);
    if (this.entries.length > KEPT) this.entries.shift().gone = true;
    this.changed(entry);
    if (this.onChange || entry.kind === 'own') return;
    this.unread += 1;
    this.onUnread(this.unread);
  }

  write(frame) {
    const update = this.typewriter.take(frame);
    if (!update) return;
    this.answered(conversationOf(frame));
    const known = this.entries.find((entry) => entry.stream === update.stream_id && !entry.done);
    const entry = known || { kind: 'typewriter', stream: update.stream_id, at: frame.ts, before: '', whole: true };
    entry.id = frame.id;
    entry.raw = entry.before + update.text;
    entry.text = plain(entry.raw, Infinity);
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
        entry.before = `${entry.raw} […] `;
      });
    this.changed(null);
  }

  think(conversation) {
    clearTimeout(this.thinking.get(conversation));
    this.thinking.set(
      conversation,
      setTimeout(() => this.answered(conversation), ANSWER_TIMEOUT_MS),
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

  /** The session has ended. */
  close() {
    window.removeEventListener('pagehide', this.onLeave);
    document.removeEventListener('visibilitychange', this.onHidden);
    dropMessages();
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
