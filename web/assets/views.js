// The views of each client and role. Each is a module with `show(desk, place)`, loaded when it is shown; it fills the place below
// its title, and may return a function that is called when another view replaces it.

import { isFor } from './clients.js';
import { say } from './words.js';

const MODULES = {
  overview: () => import('./overview.js'),
  people: () => import('./people.js'),
  person: () => import('./person-page.js'),
  agents: () => import('./agents.js'),
  signed_in: () => import('./signed-in.js'),
  log: () => import('./log.js'),
  access: () => import('./access.js'),
  role_rules: () => import('./role-rules.js'),
  networks: () => import('./networks.js'),
  keys: () => import('./keys.js'),
  programs: () => import('./oidc-clients.js'),
  links: () => import('./links.js'),
  caller: () => import('./caller.js'),
  messages: () => import('./messages.js'),
  calling: () => import('./calling.js'),
  account: () => import('./account.js'),
  security: () => import('./security.js'),
  wrong_role: () => import('./wrong-role.js'),
};

const OWN = ['account', 'security'];
/** The views of the administration for each role, `person` without a link of its own. */
const READING = ['people', 'person', 'signed_in', 'access', 'log'];
/** Links are for people of connected corporations, whom not every platform identifies. */
const LINKS = '{platform.links}' === 'on' ? ['links'] : [];
const ALL = ['overview', 'people', 'person', 'agents', 'signed_in', ...LINKS, 'access', 'role_rules', 'networks', 'keys', 'programs', 'log'];
const SEEN = { admin: ALL, security: ['overview', ...READING], supervisor: READING };
/** The groups of the navigation; only the administration has enough views to need them. */
const GROUPS = {
  people: 'people', agents: 'people', signed_in: 'people', links: 'people', access: 'rules', role_rules: 'rules',
  networks: 'rules', keys: 'rules',
  programs: 'rules', log: 'records', account: 'own', security: 'own', person: 'hidden',
};

/** The views of a client for the active role, in order. */
export const viewsOf = ({ client, me, suspended }) =>
  (suspended ? ['wrong_role', 'security'] : idsOf(client, me.current_role)).map((id) => ({
    id,
    title: say(`view_${id}`),
    group: client === 'itadmin' && GROUPS[id],
    load: MODULES[id],
  }));

function idsOf(client, role) {
  if (!isFor(client, role)) return ['wrong_role', ...OWN];
  if (client === 'h5') return ['account', 'messages', 'calling', 'security'];
  if (client === 'itagent') return ['account', 'caller', 'messages', 'security'];
  return client === 'itadmin' ? [...SEEN[role], ...OWN] : ['account', 'messages', 'security'];
}
