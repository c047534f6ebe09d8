// The user's own sessions and sign-ins, their authenticator, and the password of an agent.

import { devicePanel } from './device-panel.js';
import { fill, h } from '../lib/dom.js';
import { refused } from '../components/listing.js';
import { passwordPanel } from './own-password.js';
import { sessionsPanel } from './sessions.js';
import { signInsPanel } from './sign-ins.js';

/** Shows the view; the credentials are added once the service has confirmed that the user may have them. */
export function show(desk, place) {
  const sessions = sessionsPanel(desk);
  const own = { status: null, changed: () => [sessions, signIns].forEach((panel) => panel.reload()) };
  const signIns = signInsPanel(desk, own);
  const credentials = h('div', { class: 'beside-each-other' });
  place.append(credentials, sessions, signIns);
  showCredentials(desk, own, credentials, sessions);
}

async function showCredentials(desk, own, credentials, before) {
  const answer = await desk.get('/api/auth/otp-status');
  if (!before.isConnected) return;
  fill(credentials);
  const { code, data } = answer;
  const again = () => showCredentials(desk, own, credentials, before);
  if (code !== 0) fill(credentials, h('div', { class: 'panel' }, refused(answer, again)));
  if (code !== 0 || !data.may_bind) return;
  own.status = data;
  credentials.append(devicePanel(desk, own));
  if (data.agent) credentials.append(passwordPanel(desk, own));
  // A missing device comes first.
  if (data.bound) before.parentNode.append(credentials);
  else before.before(credentials);
}
