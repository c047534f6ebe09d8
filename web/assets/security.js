// Where somebody is signed in, how they were, and what an agent proves themself with.

import { devicePanel } from './device-panel.js';
import { fill, h } from './dom.js';
import { refused } from './listing.js';
import { passwordPanel } from './own-password.js';
import { sessionsPanel } from './sessions.js';
import { signInsPanel } from './sign-ins.js';

/** Shows it; what is for agents only comes once the desk has said that they are one. */
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
  // What is missing comes first.
  if (data.bound) before.parentNode.append(agents);
  else before.before(agents);
}
