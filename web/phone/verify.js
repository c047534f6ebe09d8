// The phone's page on which employees say whether they called IT: shows who asks, and about what.

import { timeOf } from './ask.js';
import { tell } from '../lib/page.js';
import { openQuestion, tellFact } from './phone-question.js';
import { say } from '../lib/words.js';

openQuestion({ path: '/api/verifications', field: 'verification', words: 'verify', hasNext: false, draw });

function draw({ who, reason, asked_at }) {
  const values = { name: who.name || who.employee_id };
  tell('ask-lead', say('verify_lead', values));
  tell('consequence', say('verify_consequence', values));
  tellFact('asker', who.name ? `${who.name} (${who.employee_id})` : who.employee_id);
  tellFact('department', who.department);
  tellFact('reason', reason || '');
  tellFact('asked-at', timeOf(asked_at));
  return { title: say('verify_title'), pick: say('verify_pick', values), values };
}
