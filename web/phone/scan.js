// The phone's page: shows the requesting computer, and lets the user confirm or cancel. Nothing happens without a press.

import { ask, end, isOver, send, takeSecret, timeOf, finalRefusal } from './ask.js';
import { post } from '../client/deskpass.js';
import { offerNumbers, withdrawNumbers } from './numbers.js';
import { $, known, open, tab, tell } from '../lib/page.js';
import { followOutcome, stopFollowing } from './scan-outcome.js';
import { say } from '../lib/words.js';

async function look() {
  stopFollowing();
  const confirm = takeSecret('confirm');
  if (!confirm) return;
  const answer = await post('/api/auth/scan/request', { confirm });
  if (answer.code === 0) question(confirm, answer.data);
  else await refused(answer, confirm, (text) => end({ title: say('trouble'), text, again: look }));
}

function question(confirm, asked) {
  tell('browser', asked.browser || say('unknown'));
  tell('os', asked.os || say('unknown'));
  tell('address', asked.ip_address || say('unknown'));
  tell('asked-at', timeOf(asked.requested_at));
  tell('whole-account', asked.client_name ? say('scan_whole_account', { program: asked.client_name }) : '');
  $('warning').hidden = asked.same_network !== false;
  $('opened-by-page').hidden = !asked.opened_by_page;
  $('number-missing').hidden = !asked.number_missing;
  const isDoubtful = asked.opened_by_page || asked.number_missing;
  $('sure-line').hidden = !isDoubtful;
  $('unlocated').hidden = typeof asked.same_network === 'boolean';
  const agree = (number) => answerWith('confirm', { confirm, number }, () => followOutcome(confirm, true));
  $('confirm').onclick = () => agree();
  $('cancel').onclick = () => answerWith('cancel', { confirm }, cancelled);
  const name = asked.name || asked.employee_id;
  ask({
    title: say('scan_title', { desk: placeOf(asked), name }),
    seconds: asked.expires_in,
    over,
    ...waysToAgree(asked.choices, agree),
    sure: isDoubtful ? $('sure') : null,
    // Only now may the computer learn the user's name; if this request gets lost, it learns it with the answer.
    read: () => post('/api/auth/scan/request', { confirm, shown: true }),
  });
}

/** The buttons that agree: one for each number, where the computer shows one of them. */
function waysToAgree(choices, agree) {
  $('confirm').hidden = Boolean(choices);
  if (choices) return offerNumbers(say('scan_pick'), choices, agree);
  withdrawNumbers();
  return { yes: $('confirm') };
}

/** What the computer signs in to: one of our clients, or another program, whose host shows which one it really is. */
const placeOf = ({ client, client_name, client_host }) =>
  (client_name ? say('scan_program', { program: client_name, host: client_host }) : say(known(client)));

function cancelled() {
  tab.drop('confirm');
  end({ title: say('scan_cancelled'), text: say('cancelled_text') });
}

async function answerWith(verb, body, next) {
  const answer = await send(`/api/auth/scan/${verb}`, body);
  if (answer.code !== 0) {
    await refused(answer, body.confirm, (text) => tell('refusal', text));
    return;
  }
  next();
}

async function refused(answer, confirm, otherwise) {
  const away = finalRefusal(answer);
  if (away) {
    tab.drop('confirm');
    end(away);
  } else if (!isOver(answer)) {
    otherwise(answer.message);
  } else if (!(await followOutcome(confirm, false))) {
    // It was not confirmed before either, by a press whose response was lost or before a reload.
    over();
  }
}

function over() {
  tab.drop('confirm');
  end({ title: say('scan_over'), text: say('scan_over_text') });
}

open(look);
