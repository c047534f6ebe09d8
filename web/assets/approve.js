// The phone's page on which users approve an operation of their own: shows exactly what would be done, and by which computer.

import { timeOf } from './ask.js';
import { tell } from './page.js';
import { openQuestion, tellFact } from './phone-question.js';
import { say } from './words.js';

/** The width of one level of a body, and the levels that are still indented on a narrow screen. */
const [INDENT, DEEPEST] = ['  ', 8];

openQuestion({ path: '/api/auth/approvals', field: 'approval', words: 'approve', hasNext: true, draw });

function draw({ who, what, client, ip_address, asked_at }) {
  tell('summary', what.summary);
  tellFact('account', who.name ? `${who.name} (${who.employee_id})` : who.employee_id);
  tellFact('request', `${what.method} ${what.path}`);
  tellFact('sent', inLines(what.body));
  tellFact('browser', client.browser || say('unknown'));
  tellFact('os', client.system || say('unknown'));
  tellFact('address', ip_address || say('unknown'));
  tellFact('asked-at', timeOf(asked_at));
  return { title: say('approve_title'), pick: say('approve_pick'), values: {} };
}

/**
 * Breaks a text of JSON into lines. Only line breaks and indentation are added: what is approved are these characters, so none is
 * parsed away, such as the first of two members of one name.
 */
function inLines(text) {
  let [lines, depth, isString, isEscaped, before] = ['', 0, false, false, ''];
  const newLine = () => `\n${INDENT.repeat(Math.max(0, Math.min(depth, DEEPEST)))}`;
  Array.from(text).forEach((character) => {
    const isEnd = !isString && '}]'.includes(character);
    if (isEnd) depth -= 1;
    const breaks = !isString && (isEnd ? !'{['.includes(before) : '{[,'.includes(before));
    lines += (breaks && before ? newLine() : '') + character;
    if (!isString && '{['.includes(character)) depth += 1;
    if (character === '"' && !isEscaped) isString = !isString;
    isEscaped = isString && character === '\\' && !isEscaped;
    // The last character outside of strings: what a string ends with breaks no line.
    before = isString ? '"' : character;
  });
  return lines;
}
