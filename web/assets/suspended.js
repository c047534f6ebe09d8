// A session goes on when its role may not: in another role, or from another network.

import { tab } from './page.js';

const REASONS = ['role_taken_away', 'address_not_allowed'];
const NOBODY = { employee_id: '', name: '', department: '', roles: [], login_source: '' };

/** Why an answer of the desk says that the active role is not good here; empty when it does not. */
export const whySuspended = ({ code, data }) => (code !== 0 && data && REASONS.includes(data.reason) ? data.reason : '');

/** Keeps who it is for as long as the tab lasts: the desk does not say while a session is suspended. None of it is secret. */
export function remember({ employee_id, name, roles }) {
  if (employee_id) tab.set('me', JSON.stringify({ employee_id, name, roles }));
}

/** Who it was when this tab was last told. */
export function remembered() {
  try {
    return { ...NOBODY, ...JSON.parse(tab.get('me')), current_role: null };
  } catch (_) {
    return { ...NOBODY, current_role: null };
  }
}

/** Forgets it. */
export const forget = () => tab.drop('me');
