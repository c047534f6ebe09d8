// The views of each client and role. Each is a module with `show(desk, place)`, loaded when it is shown; it fills the place below
// its title, and may return a function that is called when another view replaces it.

import { isFor } from '../lib/clients.js';
import { say } from '../lib/words.js';

const MODULES = {
  overview: () => import('../admin/overview.js'),
  people: () => import('../admin/people.js'),
  person: () => import('../admin/person-page.js'),
  agents: () => import('../admin/agents.js'),
  signed_in: () => import('../admin/signed-in.js'),
  log: () => import('../admin/log.js'),
  access: () => import('../admin/access.js'),
  role_rules: () => import('../admin/role-rules.js'),
  networks: () => import('../admin/networks.js'),
  keys: () => import('../admin/keys.js'),
  programs: () => import('../admin/oidc-clients.js'),
  links: () => import('../admin/links.js'),
  caller: () => import('../views/caller.js'),
  messages: () => import('../views/messages.js'),
  calling: () => import('../views/calling.js'),
  account: () => import('../views/account.js'),
  security: () => import('../views/security.js'),
  wrong_role: () => import('../views/wrong-role.js'),
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
