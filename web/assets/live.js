// The page's socket: tells how it is, and what happens to the session elsewhere.

import { actsAsAgent, connect } from './deskpass.js';
import { say } from './words.js';

/** What mends itself sooner than this is nobody's concern, least of all of those who have the page read to them. */
const WORTH_TELLING = 1000;

/**
 * Opens the socket of a desk that fits its role, and tells in `place` how it is. `heard` has what to do: `frame(frame)`, with
 * every frame; `gap()`, when something may have been missed; `role(now)`, when another role is active; `ending()`, when little
 * time is left; `lost()`, when the role may not be here; `over(reason)`, when the session is over.
 * Returns how to fit it to another role, and how to stop.
 */
export function goLive({ token, client, me }, place, heard) {
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
    if (over === 'session') heard.over(reason);
    if (over !== 'role') return;
    // Whatever role comes next opens another one.
    socket = '';
    // Should another node not know of the role yet, it does in a moment.
    timer = setTimeout(heard.lost, WORTH_TELLING);
  };
  const session = ({ content }) => {
    if (!content) return;
    if (content.event === 'role_changed') heard.role(content.current_role);
    if (content.event === 'ending' && content.expires_in) heard.ending();
  };
  const fit = (now) => {
    const wanted = client !== 'h5' && actsAsAgent(now) ? 'agent' : 'employee';
    if (wanted === socket) return;
    if (line) line.close();
    socket = wanted;
    line = connect({ socket, token, on: { session }, onMessage: heard.frame, onGap: heard.gap, onState, onEnd });
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
