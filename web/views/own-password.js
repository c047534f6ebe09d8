// An agent's own password: setting and changing it.

import { field, problems, question } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { panel } from '../components/listing.js';
import '../factors/password-words.js';
import { whyNotIn } from '../factors/refusals.js';
import './security-words.js';
import { needsSignIn, signInAgain } from '../factors/sign-in-again.js';
import { say } from '../lib/words.js';

const [NOT_GOOD, OLD_NEEDED, OLD_WRONG] = [1014, 1015, 1016];

/** The panel; `own.status` says whether a password exists, and `own.changed()` is called when sessions ended with the old one. */
export function passwordPanel(desk, own) {
  const element = panel(say('password_word'), {
    id: 'own-password',
    lead: say(own.status.has_password ? 'password_why' : 'password_first'),
  });
  element.append(form(desk, own, element));
  return element;
}

function form(desk, own, element) {
  const has = own.status.has_password;
  const old = refusable(
    field(say('password_old'), {
      name: 'old_password',
      id: 'old-password',
      type: 'password',
      required: true,
      maxlength: '128',
      autocomplete: 'current-password',
    }),
  );
  const fresh = refusable(
    field(
      say('password_new'),
      {
        name: 'new_password',
        id: 'new-password',
        type: 'password',
        required: true,
        maxlength: '128',
        autocomplete: 'new-password',
      },
      say('password_rules'),
    ),
  );
  const go = h('button', { class: 'button small main', type: 'submit' }, say(has ? 'password_change' : 'password_set'));
  const made = h(
    'form',
    { id: 'own-password-form', class: 'steps-form' },
    // For password managers, which need the account name.
    h('input', { name: 'username', autocomplete: 'username', value: desk.me.employee_id, hidden: true }),
    has && old.element,
    fresh.element,
    go,
  );
  made.onsubmit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    [old, fresh].forEach(({ refuse }) => refuse(''));
    await change({ desk, own, element, made, old, fresh });
    go.disabled = false;
  };
  return made;
}

/** A field that shows its own error. */
function refusable(element) {
  const input = element.querySelector('input');
  const why = h('p', { class: 'refusal', id: `${input.id}-refusal`, role: 'alert', hidden: true });
  element.append(why);
  input.setAttribute('aria-describedby', [input.getAttribute('aria-describedby'), why.id].filter(Boolean).join(' '));
  const refuse = (text) => {
    fill(why, text);
    why.hidden = !text;
    input.setAttribute('aria-invalid', String(Boolean(text)));
    if (text) input.select();
  };
  return { element, refuse };
}

/** Asks before a first password ends other sessions, once per form; resolves to whether to go on. */
async function mayEndOthers(desk, own, made) {
  if (own.status.has_password || made.hasConfirmed) return true;
  const { code, data } = await desk.get('/api/auth/sessions');
  const count = code === 0 ? data.items.filter(({ current }) => !current).length : 0;
  const send = async () => ({ code: 0 });
  const text = say(count === 1 ? 'password_ends_one' : 'password_ends_many', { count });
  const asked = { title: say('password_ends_title'), text, action: say('password_set') };
  made.hasConfirmed = count === 0 || Boolean(await question({ ...asked, send }));
  return made.hasConfirmed;
}

async function change({ desk, own, element, made, old, fresh }) {
  const { old_password, new_password } = made.elements;
  if (!(await mayEndOthers(desk, own, made))) return;
  const body = { new_password: new_password.value, ...(old_password && { old_password: old_password.value }) };
  const send = () => desk.post('/api/agents/password', body);
  let answer = await send();
  if (needsSignIn(answer) && (await signInAgain(desk))) answer = await send();
  if (answer.code === 0) {
    own.status.has_password = true;
    const next = passwordPanel(desk, own);
    element.replaceWith(next);
    const title = next.querySelector('h2');
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
    desk.say(say('password_is_set', { count: answer.data.ended_sessions }));
    own.changed();
  } else if (answer.code === OLD_NEEDED || answer.code === OLD_WRONG) {
    old.refuse(answer.code === OLD_WRONG ? say('password_old_wrong') : answer.message);
  } else if (answer.code === NOT_GOOD) {
    fresh.refuse(say('password_is', { what: problems(answer) }));
  } else {
    fresh.refuse(whyNotIn(answer));
  }
}
