// The three clients, and the roles that each is for.

const AGENTS = ['agent', 'supervisor', 'admin'];
const READERS = ['admin', 'supervisor', 'security'];
const ROLES = { itagent: AGENTS, itadmin: READERS };
const HOMES = { admin: 'itadmin', security: 'itadmin', agent: 'itagent', supervisor: 'itagent' };

/** All of them. */
export const CLIENTS = ['h5', 'itagent', 'itadmin'];

/** Whether a client is for whoever acts in a role. */
export const isFor = (client, role) => !ROLES[client] || ROLES[client].includes(role);

/** Where a client is. */
export const pathOf = (client) => `/${client}/`;

/** Where whoever acts in a role belongs. */
export const homeOf = (role) => pathOf(HOMES[role] || 'h5');
