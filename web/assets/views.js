// Which views there are, for which client and role. Each is a module with `show(desk, place)`, loaded when it is looked at;
// it fills the place below its title, and may return what to do when another view takes its place.

import { isFor } from './clients.js';
import { say } from './words.js';

const MODULES = {
  overview: () => import('./overview.js'),
  people: () => import('./people.js'),
  agents: () => import('./agents.js'),
  signed_in: () => import('./signed-in.js'),
  log: () => import('./log.js'),
  access: () => import('./access.js'),
  networks: () => import('./networks.js'),
  keys: () => import('./keys.js'),
  links: () => import('./links.js'),
  messages: () => import('./messages.js'),
  account: () => import('./account.js'),
  security: () => import('./security.js'),
  wrong_role: () => import('./wrong-role.js'),
};

const OWN = ['account', 'security'];
const READING = ['people', 'signed_in', 'log', 'access'];
const ALL = ['overview', 'people', 'agents', 'signed_in', 'log', 'access', 'networks', 'keys', 'links'];
/** What each role sees of the administration. */
const SEEN = { admin: ALL, security: ['overview', ...READING], supervisor: READING };

/** The views of a client for the active role, the first one first. */
export const viewsOf = ({ client, me, suspended }) =>
  (suspended ? ['wrong_role', 'security'] : idsOf(client, me.current_role)).map((id) => ({
    id,
    title: say(`view_${id}`),
    load: MODULES[id],
  }));

function idsOf(client, role) {
  if (!isFor(client, role)) return ['wrong_role', ...OWN];
  return client === 'itadmin' ? [...SEEN[role], ...OWN] : ['account', 'messages', 'security'];
}
