// The QR code of this tab, kept for a reload: a phone may have scanned it already. Its ticket is valid in this browser only.

import { tab } from './page.js';

/** A sign-in that was confirmed at the last moment can be collected for this long after its code has expired. */
const COLLECT_PERIOD_MS = 30000;

/** Keeps a code that is shown for a client. */
export function keepCode(client, { ticket, qrcode_url, qrcode_png_base64, expires_in, match_number }) {
  const until = Date.now() + expires_in * 1000;
  tab.set('code', JSON.stringify({ client, ticket, qrcode_url, qrcode_png_base64, match_number, until }));
}

/** The code that this tab showed for a client before a reload, unless it has expired; else null. */
export function keptCode(client) {
  const { until, ...code } = JSON.parse(tab.get('code') || '{}');
  if (code.client !== client || Date.now() >= until + COLLECT_PERIOD_MS) return null;
  return { ...code, expires_in: Math.max(0, Math.ceil((until - Date.now()) / 1000)) };
}

/** Forgets the code: it was used, or has ended. */
export const dropCode = () => tab.drop('code');
