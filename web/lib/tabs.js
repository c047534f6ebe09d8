// One session in several tabs of a browser: a new tab asks, a signed-in tab offers, and a press in the new tab takes it over.
// Nothing is stored: the tabs talk over a channel of this origin, and the token passes only after the press.

const CHANNEL = 'deskpass.session';
/** How long a tab that offered its session may take to hand it over. */
const HANDOVER_MS = 2000;
/** The number of tabs that are remembered as asking; of more, the oldest are forgotten. */
const MAX_ASKING = 50;

const random = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join('-');

/**
 * Opens the channel; where the browser has none, nothing is ever received. A page that the browser keeps after the user has left
 * must have no open channel.
 */
function channelTo(onMessage) {
  if (!window.BroadcastChannel) return { post: () => {}, close: () => {} };
  let channel = null;
  const open = () => {
    channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = ({ data }) => data && onMessage(data);
  };
  const shut = () => channel.close();
  const onShow = (event) => event.persisted && open();
  window.addEventListener('pagehide', shut);
  window.addEventListener('pageshow', onShow);
  open();
  const close = () => {
    window.removeEventListener('pagehide', shut);
    window.removeEventListener('pageshow', onShow);
    shut();
  };
  return { post: (message) => channel.postMessage(message), close };
}

/**
 * Offers the session of this tab to tabs that ask; `session()` is `{ name, token }`. Only a tab that asked gets the token, once,
 * when its user presses; `given` is called then. Returns how to stop.
 */
export function offerSession(session, given) {
  const [self, asking] = [random(), new Set()];
  const channel = channelTo(({ kind, asker, from }) => {
    if (kind === 'ask') {
      asking.add(asker);
      if (asking.size > MAX_ASKING) asking.delete(asking.values().next().value);
      channel.post({ kind: 'offer', asker, from: self, name: session().name });
    } else if (kind === 'take' && from === self && asking.delete(asker)) {
      channel.post({ kind: 'give', asker, from: self, token: session().token });
      given();
    }
  });
  // Tabs that asked before this one was signed in ask again.
  channel.post({ kind: 'open' });
  return () => channel.close();
}

/**
 * Asks the other tabs for a session. `offered(name, take)` is called with the first offer; `take()` resolves to its token, or to
 * null when that tab is gone. Returns how to stop.
 */
export function askForSession(offered) {
  const asker = random();
  let [source, receive] = ['', () => {}];
  const ask = () => !source && channel.post({ kind: 'ask', asker });
  const take = () =>
    new Promise((resolve) => {
      receive = resolve;
      channel.post({ kind: 'take', asker, from: source });
      setTimeout(() => resolve(null), HANDOVER_MS);
    });
  const channel = channelTo(({ kind, asker: of, from, name, token }) => {
    if (kind === 'open') ask();
    if (of !== asker) return;
    if (kind === 'offer' && !source) {
      source = from;
      offered(String(name), take);
    } else if (kind === 'give' && from === source) {
      receive(String(token));
    }
  });
  ask();
  return () => channel.close();
}
