// Keeps the messages of the last minutes for as long as the tab lasts, so that a reload does not lose them. They stand beside the
// token, and go with it.

import { tab } from '../lib/page.js';

const [LONGEST_AGE, MOST, MOST_CHARACTERS] = [5 * 60 * 1000, 50, 100 * 1024];

/** Whose messages they are; empty where that is not known. */
const ownerOf = ({ corp_id, employee_id }) => (employee_id ? `${corp_id}/${employee_id}` : '');

/** Stores the latest messages of this user, and the id of the last frame, after which the socket resumes. */
export function keepMessages(user, { entries, lastId }) {
  const owner = ownerOf(user);
  if (!owner) return;
  const fresh = entries.filter(({ received }) => Date.now() - received < LONGEST_AGE).slice(-MOST);
  let size = 0;
  const kept = fresh.reverse().filter((entry) => (size += JSON.stringify(entry).length) <= MOST_CHARACTERS).reverse();
  tab.set('messages', JSON.stringify({ owner, lastId, entries: kept }));
}

/** The stored messages of this user that are still recent; those of another user are removed. */
export function keptMessages(user) {
  const { owner, lastId, entries } = stored();
  if (!owner || owner !== ownerOf(user)) {
    dropMessages();
    return { lastId: '', entries: [] };
  }
  return { lastId, entries: entries.filter(({ received }) => Date.now() - received < LONGEST_AGE) };
}

/** Removes the stored messages. */
export const dropMessages = () => tab.drop('messages');

function stored() {
  try {
    return JSON.parse(tab.get('messages')) || {};
  } catch (_) {
    return {};
  }
}
