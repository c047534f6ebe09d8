// Asks for confirmation of a sign-in that this browser did not start.

import { ask, end, isOver, send, takeSecret, finalRefusal } from './ask.js';
import { post } from '../client/deskpass.js';
import { $, leave, open, tab, tell } from '../lib/page.js';
import { say } from '../lib/words.js';

async function look() {
  $('home').href = placeOf(requestOfTab());
  const secret = takeSecret('continue');
  if (!secret) return;
  const answer = await post('/api/auth/oauth2/pending', { continue: secret });
  if (answer.code === 0) question(secret, answer.data);
  else refused(answer, (text) => end({ title: say('trouble'), text, again: look }));
}

/** The request of another program that this tab left for the platform with; else null. */
function requestOfTab() {
  const went = tab.get('went') || '';
  return went.startsWith('dpq_') ? went : null;
}

/** The page that continues with that request, or the sign-in page. */
const placeOf = (request) => (request ? `/?${new URLSearchParams({ request })}` : '/');

function question(secret, { name, employee_id, expires_in }) {
  const request = requestOfTab();
  $('ask-lead').textContent = request ? say('continue_lead_program') : say('continue_lead', { desk: say('h5') });
  $('go-on').onclick = () => goOn(secret, request);
  $('cancel').onclick = () => {
    tab.drop('continue');
    // Inside the platform's app the page would go to the platform by itself, although the user has just refused.
    tab.set('went', request || '1');
    location.replace(placeOf(request));
  };
  ask({ title: say('continue_title', { name: name || employee_id }), seconds: expires_in, over, yes: $('go-on') });
}

async function goOn(secret, request) {
  const answer = await send('/api/auth/oauth2/continue', { continue: secret });
  if (answer.code !== 0) {
    refused(answer, (text) => tell('refusal', text));
    return;
  }
  tab.drop('continue');
  leave(answer.data.redirect_to, (url) => location.replace(request ? placeOf(request) + new URL(url).hash : url));
}

function refused(answer, otherwise) {
  const away = finalRefusal(answer);
  if (away) {
    tab.drop('continue');
    end(away);
  } else if (isOver(answer)) over();
  else otherwise(answer.message);
}

function over() {
  tab.drop('continue');
  end({ title: say('continue_over'), text: say('start_again') });
}

open(look);
