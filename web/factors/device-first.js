// The authenticator that an operation needs: set up or confirmed in place, before the operation asks for its code.

import { setUpDevice } from './device.js';
import { codeField, question } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { whyNotIn } from './refusals.js';
import { signInAgain } from './sign-in-again.js';
import { learn, say } from '../lib/words.js';

const CODE_WRONG = 1008;

learn({
  first_title: ['Set up your authenticator first', '请先绑定身份验证器'],
  first_text: [
    'Changes here are confirmed with a code from an authenticator app on your phone, and you have not set one up yet. It takes a minute; then you continue with your change.',
    '此处的更改需要用手机上身份验证器应用的验证码确认，而您尚未绑定。绑定约需一分钟，完成后即可继续当前操作。',
  ],
  first_go: ['Set it up now', '立即绑定'],
  prove_title: ['Confirm your authenticator first', '请先确认身份验证器'],
  prove_text: [
    'Your authenticator was set up without {platform.en}, so its codes do not confirm changes yet. Sign in with {platform.en} and enter one code; then you continue with your change.',
    '您的身份验证器绑定时未经{platform.zh}确认，暂不能用于确认更改。请通过{platform.zh}登录并输入一次验证码，完成后即可继续当前操作。',
  ],
  prove_go: ['Confirm it now', '立即确认'],
  first_not_allowed: [
    'Your agent record is disabled, and with it your authenticator, so you cannot make changes. Ask another administrator to enable it.',
    '您的坐席记录已停用，身份验证器随之停用，因此无法进行更改。请联系其他管理员启用。',
  ],
});

/** Has the user set up or confirm the authenticator, whose state is the response of `otp-status`; resolves to whether it is ready. */
export async function makeReady(desk, status) {
  if (status.may_bind) return status.bound ? prove(desk, status) : setUp(desk);
  desk.say(say('first_not_allowed'), true);
  return false;
}

const again = (desk, options) => signInAgain(desk, { ...options, resume: 'device' });

/** A dialog that offers to set up an authenticator, and has all steps of it; resolves to whether there is one now. */
function setUp(desk) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const [place, said] = [h('div', { class: 'inside' }), h('p', { class: 'hint', role: 'status' })];
    const dialog = h('dialog', { id: 'device-first', 'aria-labelledby': 'first-title' }, place, said);
    const close = (isReady) => {
      dialog.onclose = null;
      dialog.remove();
      if (before && before.isConnected) before.focus();
      resolve(isReady);
    };
    const steps = {
      heading: 'h2', titleId: 'first-title', owner: desk.me.employee_id,
      post: (path, body) => desk.post(path, body),
      // The page's own messages are behind the dialog.
      tell: (text) => { said.textContent = text; },
      hold: (text, isHeld) => desk.places.hold(text, isHeld),
      cancel: () => close(false),
      again: () => again(desk, { takesCode: true }),
      done: () => close(true),
    };
    fill(place, ...offer(() => close(false), () => setUpDevice(place, steps)));
    keepOpen(dialog, () => close(false));
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector('.main').focus();
  });
}

function offer(cancel, go) {
  return [
    h('h2', { id: 'first-title', tabindex: '-1' }, say('first_title')),
    h('p', { class: 'lead' }, say('first_text')),
    h('div', { class: 'choice' },
      h('button', { class: 'button', type: 'button', 'data-act': 'cancel', onclick: cancel }, say('cancel')),
      h('button', { class: 'button main', type: 'button', id: 'first-go', onclick: go }, say('first_go'))),
  ];
}

/** The recovery codes are shown once: Escape must not take them away. Browsers close a dialog at a second one, whatever happens. */
function keepOpen(dialog, closed) {
  const isHeld = () => Boolean(dialog.querySelector('#recovery-codes'));
  dialog.addEventListener('cancel', (event) => isHeld() && event.preventDefault());
  dialog.onclose = () => (isHeld() ? dialog.showModal() : closed());
}

/** Has the user confirm an authenticator that was set up without the platform; resolves to whether it is confirmed. */
async function prove(desk, { recent_sign_in }) {
  const wanted = await question({
    title: say('prove_title'), text: say('prove_text'), action: say('prove_go'), send: async () => ({ code: 0 }),
  });
  if (!wanted || (!recent_sign_in && !(await again(desk)))) return false;
  const answer = await question({
    title: say('prove_title'),
    // A recovery code would prove nothing about the authenticator.
    fields: [codeField()],
    action: say('prove_go'),
    refusal: (refused) => (refused.code === CODE_WRONG ? say('code_wrong') : whyNotIn(refused)),
    send: (values) => desk.post('/api/auth/otp-verify', { code: values.code.replace(/\s/g, '') }),
  });
  return Boolean(answer);
}
