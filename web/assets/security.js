// The user's own sessions and sign-ins, and the credentials of an agent.

import { devicePanel } from './device-panel.js';
import { fill, h } from './dom.js';
import { refused } from './listing.js';
import { passwordPanel } from './own-password.js';
import { sessionsPanel } from './sessions.js';
import { signInsPanel } from './sign-ins.js';

/** Shows the view; the parts for agents are added once the service has confirmed that the user is one. */
export function show(desk, place) {
  const sessions = sessionsPanel(desk);
  const own = { status: null, changed: () => [sessions, signIns].forEach((panel) => panel.reload()) };
  const signIns = signInsPanel(desk, own);
  const agents = h('div', { class: 'beside-each-other' });
  place.append(agents, sessions, signIns);
  showAgents(desk, own, agents, sessions);
}

async function showAgents(desk, own, agents, before) {
  const answer = await desk.get('/api/auth/otp-status');
  if (!before.isConnected) return;
  fill(agents);
  const { code, data } = answer;
  if (code !== 0) fill(agents, h('div', { class: 'panel' }, refused(answer, () => showAgents(desk, own, agents, before))));
  if (code !== 0 || !data.agent) return;
  own.status = data;
  agents.append(devicePanel(desk, own), passwordPanel(desk, own));
  // A missing device comes first.
  if (data.bound) before.parentNode.append(agents);
  else before.before(agents);
}
