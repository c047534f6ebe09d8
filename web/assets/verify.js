// The phone's page on which employees say whether they are on the telephone with IT: shows who asks.

import { timeOf } from './ask.js';
import { tell } from './page.js';
import { openQuestion, tellFact } from './phone-question.js';
import { say } from './words.js';

openQuestion({ path: '/api/verifications', field: 'verification', words: 'verify', hasNext: false, draw });

function draw({ who, reason, asked_at }) {
  const values = { name: who.name || who.employee_id };
  tell('ask-lead', say('verify_lead', values));
  tellFact('asker', who.name ? `${who.name} (${who.employee_id})` : who.employee_id);
  tellFact('department', who.department);
  tellFact('reason', reason || '');
  tellFact('asked-at', timeOf(asked_at));
  return { title: say('verify_title', values), pick: say('verify_pick', values), values };
}
