// The three clients, and the roles that each is for.

const AGENTS = ['agent', 'supervisor', 'admin'];
const READERS = ['admin', 'supervisor', 'security'];
const ROLES = { itagent: AGENTS, itadmin: READERS };
const HOMES = { admin: 'itadmin', security: 'itadmin', agent: 'itagent', supervisor: 'itagent' };

/** The names of all clients. */
export const CLIENTS = ['h5', 'itagent', 'itadmin'];

/** Whether a client is for this role. */
export const isFor = (client, role) => !ROLES[client] || ROLES[client].includes(role);

/** The path of a client. */
export const pathOf = (client) => `/${client}/`;

/** The path of the client for a role. */
export const homeOf = (role) => pathOf(HOMES[role] || 'h5');
