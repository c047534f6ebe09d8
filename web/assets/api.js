// Asks the desk. An answer is always {code, message, data}; nothing is ever thrown.

import { say } from './words.js';

const PATIENCE = 15000;
const failed = (key) => ({ code: -1, message: say(key), data: null });

async function call(path, options) {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), PATIENCE);
  try {
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal: giveUp.signal, ...options });
    const text = await response.text();
    try {
      const { code, message, data } = JSON.parse(text);
      const whole = Number.isInteger(code) && (code !== 0 || data);
      return whole ? { code, message: String(message), data } : failed('unreadable');
    } catch (_) {
      return failed('unreadable');
    }
  } catch (_) {
    return failed('offline');
  } finally {
    clearTimeout(timer);
  }
}

// Tells the desk that a page of its own asks: no other origin can send this, and older browsers do not say it themselves.
const OURS = { 'X-Requested-With': 'deskpass' };
const bearer = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

export const get = (path, token) => call(path, { headers: { ...OURS, ...bearer(token) } });

export const post = (path, body, token) =>
  call(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...OURS, ...bearer(token) },
    body: JSON.stringify(body),
  });
