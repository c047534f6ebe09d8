// Says early that scanning is useless during an outage, and offers agents their password where it can be used.

import { get } from '../client/deskpass.js';
import { notice } from './notice.js';
import { $, explain } from '../lib/page.js';
import { say } from '../lib/words.js';

const DOWN = ['unreachable', 'suspended', 'refused'];
/** The number of looks, since only the last one counts; and whether the page says that there is an outage. */
let [looks, isTold] = [0, false];

/** Looks for an outage on the sign-in page of a client; `why` is what the page says already, and `again` helps after an outage. */
export async function lookForOutage(client, why, again) {
  const mine = (looks += 1);
  // The service decides whether a password counts now, and finds out itself whether the platform is down.
  const methods = client === 'h5' ? { password: false } : (await get('/api/agents/login-methods')).data;
  // Without an answer the link stays: a press on it asks the service again.
  const isUsable = !methods || methods.password !== false;
  const { data } = await get('/api/ready');
  if (mine !== looks || document.body.dataset.view !== 'welcome') return;
  // Only operators are told so.
  if (data && data.administrators === 'none') import('../lib/not-set-up.js').then(({ tellNotSetUp }) => tellNotSetUp($('not-set-up')));
  const hasFailed = why.word === 'platform_unavailable';
  const isDown = hasFailed || Boolean(data && data.dependencies && DOWN.includes(data.dependencies.platform));
  $('by-password').hidden = !isUsable;
  document.body.classList.toggle('platform-down', isUsable && isDown);
  if (isDown && (hasFailed || !why.text)) notice({ ...outage(isUsable), ref: why.ref, again });
  else if (!isDown && isTold && !why.text) notice({});
  isTold = isDown;
}

function outage(isUsable) {
  const { title, text } = explain(new URLSearchParams('error=platform_unavailable'));
  return { title, text: isUsable ? text + say('password_meanwhile') : text };
}
