// The agents' sign-in for outages of the platform: a password, then a one-time password. Nothing typed here is kept.

import { post } from '../client/deskpass.js';
import { setUpDevice } from '../factors/device.js';
import { problems } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { dressed as loadStyles } from '../components/dress.js';
import { askForCode, askWho, askWord, other, step, turnTo } from './password-step.js';
import { whyNotIn } from '../factors/refusals.js';
import { say } from '../lib/words.js';

const [UNREACHED, NO_SESSION, CODE_WRONG, NOT_GOOD] = [-1, 1001, 1008, 1014];

/** Asks for ID and password in this section; `signedIn` gets the token, `back` leads to the other methods; `id` fills the ID in. */
export async function showPassword(section, { signedIn, back, id = '' }) {
  await loadStyles();
  // Codes that were shown here must not be visible to the next person.
  const cleared = (go) => (...given) => {
    fill(section);
    return go(...given);
  };
  askPassword({ section, signedIn: cleared(signedIn), back: cleared(back), id });
}

function askPassword(way, said = '') {
  const typed = () => way.section.querySelector('[name=employee_id]').value.trim();
  step(way, {
    title: say('password_title'),
    lead: say('password_lead'),
    said,
    fields: [
      askWho(way.id),
      askWord(say('password_word'), { name: 'password', id: 'password-word', autocomplete: 'current-password' }),
    ],
    action: say('password_next'),
    send: (values, form) => signIn(way, values, form),
    others: [
      other('password-setup', say('password_setup'), () => askSetupCode({ ...way, id: typed() })),
      other('password-back', say('password_back'), way.back),
    ],
  });
}

async function signIn(way, { employee_id, password }, form) {
  const id = employee_id.trim();
  const answer = await post('/api/agents/login', { employee_id: id, password });
  form.elements.password.value = '';
  if (answer.code !== 0) {
    form.elements.password.focus();
    return answer.code === UNREACHED ? say('password_unreached') : whyNotIn(answer);
  }
  const half = { ...way, id, token: answer.data.token };
  if (answer.data.otp === 'bind') bindDevice(half);
  else askCode(half);
  return null;
}

/** Posts in the partial session; once it has expired, the agent starts again. */
async function postHalf(way, path, body) {
  const answer = await post(path, body, way.token);
  if (answer.code !== NO_SESSION) return answer;
  askPassword(way, say('password_late'));
  return new Promise(() => {});
}

/** Ends the partial session. */
function giveUp(way) {
  post('/api/auth/logout', {}, way.token);
  askPassword(way);
}

function askCode(way) {
  const given = { name: 'code', id: 'password-code', autocomplete: 'one-time-code' };
  step(way, {
    title: say('code_title'),
    lead: say('code_lead'),
    fields: [askForCode(say('code_or_recovery'), given, say('code_or_recovery_hint'))],
    action: say('sign_in'),
    send: async ({ code }, form) => {
      const answer = await postHalf(way, '/api/auth/otp-verify', { code: code.trim() });
      if (answer.code === 0) return finish(way, answer.data);
      form.elements.code.select();
      return answer.code === CODE_WRONG ? say('code_wrong_here') : whyNotIn(answer);
    },
    others: [other('password-again', say('password_other'), () => giveUp(way))],
  });
}

/** Without a device, one is set up before the sign-in completes. */
function bindDevice(way) {
  const place = h('div', { class: 'stub', id: 'bind-device' });
  setUpDevice(place, {
    heading: 'h1',
    titleId: 'password-title',
    owner: way.id,
    post: (path, body) => postHalf(way, path, body),
    tell: (text) => tellBeside(place, text),
    cancel: () => giveUp(way),
    done: (data) => finish(way, data),
  });
  turnTo(way, place);
}

function tellBeside(place, text) {
  const said = place.querySelector('.beside') || h('p', { class: 'beside hint', role: 'status' });
  place.append(said);
  said.textContent = text;
}

function finish(way, { token }) {
  if (token) way.signedIn(token);
  else askPassword(way, say('password_late'));
  return null;
}

function askSetupCode(way) {
  const fresh = { name: 'new_password', id: 'password-new', autocomplete: 'new-password' };
  step(way, {
    title: say('setup_title'),
    lead: say('setup_lead'),
    fields: [
      askWho(way.id),
      askForCode(say('setup_code'), { name: 'setup_code', id: 'password-setup-code', autocomplete: 'off' }),
      askWord(say('password_new'), fresh, say('password_rules')),
    ],
    action: say('setup_go'),
    send: (values) => setUp(way, values),
    others: [other('password-known', say('setup_known'), () => askPassword(way))],
  });
}

async function setUp(way, { employee_id, setup_code, new_password }) {
  const id = employee_id.trim();
  const answer = await post('/api/agents/password/setup', { employee_id: id, setup_code: setup_code.trim(), new_password });
  if (answer.code === NOT_GOOD) return say('password_is', { what: problems(answer) });
  if (answer.code !== 0) return whyNotIn(answer);
  askPassword({ ...way, id }, say('setup_done'));
  return null;
}
