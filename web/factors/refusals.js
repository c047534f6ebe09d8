// Why an agent's password or code is refused, and what to do next.

import { refAside } from '../client/api.js';
import { problems } from '../components/dialog.js';
import { language, learn, say } from '../lib/words.js';

const [REFUSED, TOO_OFTEN, NO_PASSWORD, TOO_MANY] = [1003, 1006, 1012, 1013];
const REASONS = ['platform_works', 'password_off', 'setup_code', 'not_an_agent', 'not_proven', 'recent_sign_in_needed'];

learn({
  why_no_password: [
    'You have no password yet. Sign in through {platform.en} and set one under “Security”, or ask an administrator for a setup code.',
    '您还没有设置密码。请通过{platform.zh}登录后在“安全”中设置，或向管理员索取设置码。',
  ],
  why_platform_works: [
    '{platform.en} is available, so please sign in with it. Passwords are only for outages.',
    '{platform.zh}当前可用，请使用{platform.zh}登录；密码仅在其不可用时使用。',
  ],
  why_password_off: [
    'Sign-in with a password is disabled. Please sign in with {platform.en}.',
    '密码登录已关闭，请使用{platform.zh}登录。',
  ],
  why_setup_code: [
    'The setup code is invalid or expired. Check your employee ID and the code, or ask your administrator for a new one.',
    '设置码无效或已过期，请核对{platform.zh}账号和设置码，或向管理员重新索取。',
  ],
  why_not_an_agent: ['Only agents have a password here.', '只有坐席才有密码。'],
  why_not_proven: [
    'The first password has to be set in a session that began with {platform.en}: sign out, sign in with {platform.en}, and come back here.',
    '首次设置密码需通过{platform.zh}登录：请退出后使用{platform.zh}重新登录，再回到这里。',
  ],
  why_recent_sign_in_needed: [
    'The first password has to be set within 5 minutes of signing in with {platform.en}. Sign in again, or ask an administrator for a setup code.',
    '首次设置密码需在通过{platform.zh}登录后 5 分钟内完成。请重新登录，或向管理员索取设置码。',
  ],
  why_locked: [
    'Locked after too many failed attempts. Ask your administrator to unlock it; signing in with {platform.en} still works.',
    '错误次数过多，已被锁定，请联系管理员解锁；仍可使用{platform.zh}登录。',
  ],
  why_too_many: [
    'Too many failed attempts. Try again after {time}; signing in with {platform.en} still works.',
    '错误次数过多，请在 {time} 之后再试；仍可使用{platform.zh}登录。',
  ],
  why_too_often: ['Too many requests. Try again in {seconds} s.', '操作过于频繁，请 {seconds} 秒后再试。'],
});

/** The reason in words, with what to do next. */
export function whyNotIn(answer) {
  const { code, data, wait } = answer;
  const reason = data && data.reason;
  const locked = () => (reason === 'locked' || !wait ? say('why_locked') : say('why_too_many', { time: inSeconds(wait) }));
  if (code === NO_PASSWORD) return say('why_no_password') + refAside(answer);
  if (code === REFUSED && REASONS.includes(reason)) return say(`why_${reason}`) + refAside(answer);
  if (code === TOO_MANY) return locked() + refAside(answer);
  if (code === TOO_OFTEN && wait) return say('why_too_often', { seconds: wait });
  return problems(answer);
}

const inSeconds = (wait) =>
  new Date(Date.now() + wait * 1000 + 59999).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });
