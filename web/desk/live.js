// The page's socket: shows its state, and reports changes of the session that are made elsewhere.

import { actsAsAgent, connect } from '../client/deskpass.js';
import { say } from '../lib/words.js';

/** Interruptions shorter than this are not shown, least of all to users of screen readers. */
const WORTH_TELLING = 1000;

/**
 * Opens the socket that fits the role, after the last frame that the inbox knows, and shows its state in `place`. `handlers` has
 * callbacks: `frame(frame)`, for every frame; `gap()`, when something may have been missed; `role(now)`, when another role is
 * active; `ending()`, when the session is about to expire; `lost()`, when the role may not use it; `over(reason)`, when the session
 * has ended.
 * Returns how to fit it to another role, and how to stop.
 */
export function goLive({ token, client, me, inbox }, place, handlers) {
  let [line, socket, elsewhere, timer] = [null, '', false, 0];
  const tell = (state) => {
    place.dataset.state = state;
    const text = state ? say(state) : '';
    if (place.textContent !== text) place.textContent = text;
  };
  const onState = (state) => {
    clearTimeout(timer);
    if (state === 'live') tell('live');
    else if (state !== 'ended') timer = setTimeout(() => tell('reconnecting'), WORTH_TELLING);
  };
  const onEnd = ({ over, reason }) => {
    elsewhere = over === 'place';
    tell(elsewhere ? 'live_elsewhere' : '');
    if (over === 'session') handlers.over(reason);
    if (over !== 'role') return;
    // The next role opens another socket.
    socket = '';
    // If another node does not know of the role yet, it will in a moment.
    timer = setTimeout(handlers.lost, WORTH_TELLING);
  };
  const session = ({ content }) => {
    if (!content) return;
    if (content.event === 'role_changed') handlers.role(content.current_role);
    if (content.event === 'ending' && content.expires_in) handlers.ending();
  };
  const fit = (now) => {
    const wanted = client !== 'h5' && actsAsAgent(now) ? 'agent' : 'employee';
    if (wanted === socket) return;
    if (line) line.close();
    // After a reload only: another socket begins with its own messages, for the role that is active from now on.
    const lastId = line ? '' : inbox.lastId;
    socket = wanted;
    line = connect({ socket, token, lastId, on: { session }, onMessage: handlers.frame, onGap: handlers.gap, onState, onEnd });
  };
  const onVisible = () => elsewhere && document.visibilityState === 'visible' && line.reconnect();
  document.addEventListener('visibilitychange', onVisible);
  fit(me.current_role);
  const stop = () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
    line.close();
    tell('');
  };
  return { fit, stop };
}
