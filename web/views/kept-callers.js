// Keeps the questions to callers for as long as the tab lasts, so that a reload loses no number, countdown or answer. They stand
// beside the token, and go with it.

import { tab } from '../lib/page.js';

const [LONGEST_AGE, MOST] = [24 * 60 * 60 * 1000, 20];

/** Whose questions they are; empty where that is not known. */
const ownerOf = ({ corp_id, employee_id }) => (employee_id ? `${corp_id}/${employee_id}` : '');

/** Stores the latest questions of this user. */
export function keepCallers(user, asked) {
  const owner = ownerOf(user);
  if (owner) tab.set('callers', JSON.stringify({ owner, asked: asked.filter(isFresh).slice(-MOST) }));
}

/** The stored questions of this user; those of another user are removed. */
export function keptCallers(user) {
  const { owner, asked } = stored();
  if (owner && owner === ownerOf(user)) return asked.filter(isFresh);
  tab.drop('callers');
  return [];
}

const isFresh = ({ at }) => Date.now() - at < LONGEST_AGE;

function stored() {
  try {
    return JSON.parse(tab.get('callers')) || {};
  } catch (_) {
    return {};
  }
}
