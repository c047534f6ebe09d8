// The socket: kept open, resumed where it broke off, and ended when the session ends.

import { get } from './api.js';

const PROTOCOL = 'deskpass.v1';
const [FIRST_DELAY, LONGEST_DELAY, RESTART] = [250, 30000, 2000];
const HANDSHAKE_TIMEOUT_MS = 15000;
/** A connection that lasts this long counts as stable. */
const STABLE_MS = 10000;
const [SESSION_OVER, NOT_IN_THIS_ROLE, REPLACED, RESTARTING] = [4401, 4403, 4409, 1012];
const [NO_SESSION, REFUSED, NOT_FROM_HERE] = [1001, 1003, 1017];
const AGENTS = ['agent', 'supervisor', 'admin'];

/** Whether a role may open the agents' socket. */
export const actsAsAgent = (role) => AGENTS.includes(role);

/**
 * Opens a socket and keeps it open: after every break it reconnects and resumes.
 *
 * @param {object} options
 * @param {'employee'|'agent'} options.socket
 * @param {string} options.token of a session
 * @param {string} [options.base] the address of the service, if not the page's origin
 * @param {string} [options.lastId] the id of the last frame that an earlier connection received
 * @param {Object<string, (frame: object, text: string) => void>} [options.on] handlers of frames, by their msg_type
 * @param {(frame: object, text: string) => void} [options.onMessage] gets every frame, of unknown kinds too; `text` is the
 *   raw frame, for numbers that do not fit into a script's
 * @param {() => void} [options.onGap] something may have been missed: reload the data that is shown
 * @param {(state: 'connecting'|'live'|'waiting'|'ended') => void} [options.onState]
 * @param {(end: {over: 'session'|'role'|'place', reason: string}) => void} [options.onEnd] it does not reconnect by
 *   itself: the session has ended; the role may not use it; or a newer socket replaced this one
 * @returns {{lastId: string, reconnect: () => void, close: () => void}} `reconnect` continues after an end, unless the
 *   session has ended; `close` is final
 */
export function connect(options) {
  const line = new Line({ base: location.origin, on: {}, onMessage() {}, onGap() {}, onState() {}, onEnd() {}, ...options });
  line.open();
  line.watch();
  return {
    get lastId() { return line.lastId; },
    reconnect: () => line.again(),
    close: () => line.hangUp('closed'),
  };
}

class Line {
  constructor(options) {
    this.options = options;
    this.lastId = options.lastId || '';
    this.failures = 0;
    this.state = '';
  }

  /** Timers sleep with the machine; these two events trigger an immediate retry. */
  watch() {
    this.onOnline = () => this.revive();
    this.onVisible = () => document.visibilityState === 'visible' && this.look();
    window.addEventListener('online', this.onOnline);
    document.addEventListener('visibilitychange', this.onVisible);
  }

  become(state) {
    if (this.state === state) return;
    this.state = state;
    if (state !== 'closed') this.options.onState(state);
  }

  open() {
    this.drop();
    const { base, socket, token } = this.options;
    const url = new URL(`/api/ws/${socket}`, base);
    url.protocol = url.protocol.replace('http', 'ws');
    if (this.lastId) url.searchParams.set('last_id', this.lastId);
    // Never in the query: addresses are written into logs.
    const mine = dialled(url, [PROTOCOL, `bearer.${token}`]);
    if (!mine) return this.end('session', 'malformed');
    this.socket = mine;
    this.resuming = Boolean(this.lastId);
    this.opened = 0;
    this.timer = setTimeout(() => mine.close(), HANDSHAKE_TIMEOUT_MS);
    mine.onopen = () => {
      clearTimeout(this.timer);
      this.opened = Date.now();
    };
    mine.onmessage = ({ data }) => this.take(data);
    mine.onclose = (event) => this.closed(mine, event);
    this.become('connecting');
  }

  /** Drops the current connection without calling the handlers. */
  drop() {
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    if (!old) return;
    old.onopen = old.onmessage = old.onclose = null;
    old.close();
  }

  take(text) {
    const frame = parsed(text);
    if (!frame || typeof frame.msg_type !== 'string') return;
    if (typeof frame.id === 'string') this.lastId = frame.id;
    const { event, resumed } = (frame.msg_type === 'session' && frame.content) || {};
    if (event === 'ready') {
      this.become('live');
      if (this.resuming && !resumed) this.options.onGap();
    }
    const { on, onMessage } = this.options;
    hand(onMessage, frame, text);
    if (Object.prototype.hasOwnProperty.call(on, frame.msg_type)) hand(on[frame.msg_type], frame, text);
  }

  async closed(mine, { code, reason }) {
    clearTimeout(this.timer);
    const lasted = this.opened && Date.now() - this.opened;
    if (code === SESSION_OVER) this.end('session', reason || 'unknown');
    else if (code === NOT_IN_THIS_ROLE) this.end('role', reason);
    else if (code === REPLACED) this.end('place', reason);
    else {
      this.become('waiting');
      // A browser hides from scripts why a handshake was refused, so the service is asked.
      const end = this.opened ? null : await this.whyRefused();
      if (mine !== this.socket) return;
      if (end) this.end(...end);
      else this.wait(code, lasted);
    }
  }

  /** The reason of the end, as far as the session knows; nothing, if it is a temporary failure. */
  async whyRefused() {
    const { base, socket, token } = this.options;
    const { code, data } = await get(new URL('/api/auth/me', base), token);
    const reason = (data && data.reason) || 'unknown';
    if (code === NO_SESSION) return ['session', reason];
    if (code === REFUSED || code === NOT_FROM_HERE) return ['role', reason];
    if (code === 0 && socket === 'agent' && !actsAsAgent(data.current_role)) return ['role', 'role_needed'];
    return null;
  }

  wait(code, lasted) {
    if (lasted >= STABLE_MS) this.failures = 0;
    const most = code === RESTARTING ? RESTART : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.failures);
    this.failures += 1;
    // A random delay: clients that lost the service at the same moment must not return at the same moment. Offline, the browser
    // says when to retry; in case it is wrong, a rare retry does no harm.
    const delay = reachable(this.options.base) ? Math.random() * most : LONGEST_DELAY;
    this.timer = setTimeout(() => this.open(), delay);
  }

  /** The network is back: earlier connections are dead, even if the browser does not know yet. */
  revive() {
    if (this.state === 'ended' || this.state === 'closed') return;
    this.failures = 0;
    this.open();
  }

  /** The page is visible again. */
  look() {
    if (this.state === 'waiting') this.revive();
    // The service ignores it; a dead connection breaks on it, and a live one does not.
    else if (this.state === 'live') this.socket.send('');
  }

  again() {
    if (this.state === 'ended' && this.over !== 'session') {
      this.failures = 0;
      this.open();
    }
  }

  end(over, reason) {
    this.over = over;
    this.hangUp('ended');
    this.options.onEnd({ over, reason });
  }

  hangUp(state) {
    this.drop();
    this.become(state);
    if (state === 'ended' && this.over !== 'session') return;
    window.removeEventListener('online', this.onOnline);
    document.removeEventListener('visibilitychange', this.onVisible);
  }
}

/** A service on this machine can be reached without a network, whatever the browser says. */
const reachable = (base) => navigator.onLine || /^(localhost|127\..*|\[::1\])$/.test(new URL(base).hostname);

/** A browser throws for a malformed token. */
function dialled(url, protocols) {
  try {
    return new WebSocket(url, protocols);
  } catch (_) {
    return null;
  }
}

/** Calls a handler with a frame. A handler that fails must not affect the next one. */
function hand(handler, frame, text) {
  try {
    handler(frame, text);
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (_) {
    return null;
  }
}
