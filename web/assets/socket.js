// The socket: kept open, resumed where it broke off, and ended when the session ends.

import { get } from './api.js';

const PROTOCOL = 'deskpass.v1';
const [FIRST_DELAY, LONGEST_DELAY, RESTART] = [250, 30000, 2000];
/** How long a handshake may take, and how long a connection must have lasted to count as a good one. */
const [PATIENCE, STEADY] = [15000, 10000];
const [SESSION_OVER, NOT_IN_THIS_ROLE, REPLACED, RESTARTING] = [4401, 4403, 4409, 1012];
const [NO_SESSION, REFUSED, NOT_FROM_HERE] = [1001, 1003, 1017];
const AGENTS = ['agent', 'supervisor', 'admin'];

/** Whether a role may open the agents' socket. */
export const actsAsAgent = (role) => AGENTS.includes(role);

/**
 * Opens a socket and keeps it open: after every break it connects again and takes up where it was.
 *
 * @param {object} options
 * @param {'employee'|'agent'} options.socket
 * @param {string} options.token of a session
 * @param {string} [options.base] where the desk is, if not where the page came from
 * @param {string} [options.lastId] the id of the last frame that an earlier connection has seen
 * @param {Object<string, (frame: object, text: string) => void>} [options.on] what to do with a frame, by its msg_type
 * @param {(frame: object, text: string) => void} [options.onMessage] gets every frame, of unknown kinds too; `text` is the
 *   frame as it came, for numbers that do not fit into a script's
 * @param {() => void} [options.onGap] something may have been missed: read anew what is shown
 * @param {(state: 'connecting'|'live'|'waiting'|'ended') => void} [options.onState]
 * @param {(end: {over: 'session'|'role'|'place', reason: string}) => void} [options.onEnd] it does not connect again by
 *   itself: the session is over; the role may not be here; or a newer socket took this one's place
 * @returns {{lastId: string, reconnect: () => void, close: () => void}} `reconnect` goes on after an end, unless the session
 *   is over; `close` is for good
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

  /** Timers sleep with the machine; these two tell that it is worth trying at once. */
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
    this.timer = setTimeout(() => mine.close(), PATIENCE);
    mine.onopen = () => {
      clearTimeout(this.timer);
      this.opened = Date.now();
    };
    mine.onmessage = ({ data }) => this.take(data);
    mine.onclose = (event) => this.closed(mine, event);
    this.become('connecting');
  }

  /** Lets go of what there is, without a word to the caller. */
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
      // A browser does not tell scripts why a handshake was refused, so we ask.
      const end = this.opened ? null : await this.whyRefused();
      if (mine !== this.socket) return;
      if (end) this.end(...end);
      else this.wait(code, lasted);
    }
  }

  /** What ended it, as far as the session knows; nothing, if it is just trouble. */
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
    if (lasted >= STEADY) this.failures = 0;
    const most = code === RESTARTING ? RESTART : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.failures);
    this.failures += 1;
    // Anywhere up to the most: whoever lost the desk at the same moment must not come back at the same moment. Offline, the
    // browser says when it is worth it; should it be wrong about that, a try now and then does no harm.
    const delay = reachable(this.options.base) ? Math.random() * most : LONGEST_DELAY;
    this.timer = setTimeout(() => this.open(), delay);
  }

  /** The network is there again: what was open before is dead, though nobody may have told the browser. */
  revive() {
    if (this.state === 'ended' || this.state === 'closed') return;
    this.failures = 0;
    this.open();
  }

  /** Somebody looks at the page again. */
  look() {
    if (this.state === 'waiting') this.revive();
    // The desk throws it away; a line that is dead breaks on it, and one that only slept does not.
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

/** A desk on this very machine can be reached without a network, whatever the browser says. */
const reachable = (base) => navigator.onLine || /^(localhost|127\..*|\[::1\])$/.test(new URL(base).hostname);

/** A browser refuses to begin with what no token looks like. */
function dialled(url, protocols) {
  try {
    return new WebSocket(url, protocols);
  } catch (_) {
    return null;
  }
}

/** Hands a frame over. One handler that fails must not keep it from the next. */
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
