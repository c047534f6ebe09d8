// A question to the owner of this phone, answered with a number or refused: shared by the pages for approvals and for callers.

import { ask, end, finalRefusal, isOver, send, takeSecret } from './ask.js';
import { post } from '../client/deskpass.js';
import { offerNumbers } from './numbers.js';
import { $, open, tab, tell } from '../lib/page.js';
import './question-words.js';
import { say } from '../lib/words.js';

/**
 * Opens the page of a question. `path` is where it is read and answered, `field` is the name of the secret there; `draw(asked)`
 * shows it and returns its `title`, what to `pick`, and the `values` of the texts. The texts of the results begin with `words`.
 */
export const openQuestion = (kind) => open(() => look(kind));

async function look(kind) {
  const secret = takeSecret('answer', 'no_question');
  if (!secret) return;
  const answer = await post(`${kind.path}/question`, { [kind.field]: secret });
  if (answer.code === 0) question(kind, secret, answer.data);
  else refused(kind, answer, { otherwise: (text) => end({ title: say('trouble'), text, again: () => look(kind) }) });
}

function question(kind, secret, asked) {
  const { title, pick, values } = kind.draw(asked);
  const answerWith = async (given) => {
    const answer = await send(`${kind.path}/answer`, { [kind.field]: secret, ...given });
    if (answer.code === 0) tellResult(kind, given.refuse ? 'refused' : 'accepted', values);
    else refused(kind, answer, { values, otherwise: (text) => tell('refusal', text) });
  };
  tell('refusal', '');
  $('refuse').onclick = () => answerWith({ refuse: true });
  const { yes, label } = offerNumbers(pick, asked.choices, (number) => answerWith({ number }));
  // A refusal is final as well, and may alarm the administrators: it is guarded like an agreement.
  ask({ title, seconds: asked.expires_in, over: tellOver, yes: [...yes, $('refuse')], label });
}

/** Says what the answer has done, and what to do next. */
function tellResult({ words, hasNext }, result, values) {
  tab.drop('answer');
  const good = result === 'accepted';
  end({ title: say(`${words}_${result}`, values), text: say(`${words}_${result}_next`, values), good, next: hasNext && !good });
}

function refused(kind, answer, { values = {}, otherwise }) {
  const away = finalRefusal(answer);
  if (away && away.word === 'wrong_number') {
    tellResult(kind, 'wrong', values);
  } else if (away) {
    tab.drop('answer');
    end(away);
  } else if (isOver(answer)) {
    tellOver();
  } else {
    otherwise(answer.message);
  }
}

/** Also after an answer whose response was lost: the page cannot know. */
function tellOver() {
  tab.drop('answer');
  end({ title: say('error_question_over'), text: say('error_question_over_next') });
}

/** Writes a fact about the question, or hides its line where there is nothing to say. */
export function tellFact(id, text) {
  $(id).textContent = text;
  $(id).closest('dl > div').hidden = !text;
}
