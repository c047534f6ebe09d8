// A session whose role may not be used: it continues in another role, or from another network.

import { tab } from '../lib/page.js';

const REASONS = ['role_taken_away', 'address_not_allowed'];
const UNKNOWN_USER = { employee_id: '', corp_id: '', name: '', department: '', roles: [], login_source: '' };

/** The reason why the active role may not be used here, from a response; empty when there is none. */
export const whySuspended = ({ code, data }) => (code !== 0 && data && REASONS.includes(data.reason) ? data.reason : '');

/** Keeps the user for as long as the tab lasts: the service does not say while a session is suspended. None of it is secret. */
export function remember({ employee_id, corp_id, name, roles }) {
  if (employee_id) tab.set('me', JSON.stringify({ employee_id, corp_id, name, roles }));
}

/** The user as last stored in this tab. */
export function remembered() {
  try {
    return { ...UNKNOWN_USER, ...JSON.parse(tab.get('me')), current_role: null };
  } catch (_) {
    return { ...UNKNOWN_USER, current_role: null };
  }
}

/** Forgets the user. */
export const forget = () => tab.drop('me');
