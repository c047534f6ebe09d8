// Asks for confirmation of a sign-in that this browser did not start.

import { ask, end, isOver, send, takeSecret, finalRefusal } from './ask.js';
import { post } from './deskpass.js';
import { $, leave, open, tab, tell } from './page.js';
import { say } from './words.js';

async function look() {
  const secret = takeSecret('continue');
  if (!secret) return;
  const answer = await post('/api/auth/oauth2/pending', { continue: secret });
  if (answer.code === 0) question(secret, answer.data);
  else refused(answer, (text) => end({ title: say('trouble'), text, again: look }));
}

function question(secret, { name, employee_id, expires_in }) {
  $('ask-lead').textContent = say('continue_lead', { desk: say('h5') });
  $('go-on').onclick = () => goOn(secret);
  $('cancel').onclick = () => {
    tab.drop('continue');
    // Inside the platform's app the page would go to the platform by itself, although the user has just refused.
    tab.set('went', '1');
    location.replace('/');
  };
  ask({ title: say('continue_title', { name: name || employee_id }), seconds: expires_in, over, yes: $('go-on') });
}

async function goOn(secret) {
  const answer = await send('/api/auth/oauth2/continue', { continue: secret });
  if (answer.code !== 0) {
    refused(answer, (text) => tell('refusal', text));
    return;
  }
  tab.drop('continue');
  leave(answer.data.redirect_to, (url) => location.replace(url));
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
