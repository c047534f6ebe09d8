// The texts of the agents' sign-in by password.

import { learn } from '../lib/words.js';

learn({
  password_title: ['Sign in with a password', '使用密码登录'],
  password_lead: ['For agents, when {platform.en} cannot be reached.', '供坐席在{platform.zh}不可用时使用。'],
  password_id: ['Employee ID', '{platform.zh}账号'],
  password_word: ['Password', '密码'],
  password_next: ['Next', '下一步'],
  password_setup: ['I have a setup code from the administrator', '我有管理员提供的设置码'],
  password_back: ['Sign in another way', '使用其他方式登录'],
  password_other: ['Start again', '重新开始'],
  password_unreached: ['The service cannot be reached. Check your connection and try again.', '无法连接服务器，请检查网络后重试。'],
  password_late: ['This took too long or was ended. Please start again.', '操作超时或已被终止，请重新开始。'],
  code_title: ['One-time password', '一次性密码'],
  code_lead: ['Open your authenticator app and enter the code that it shows.', '请打开身份验证器应用，输入当前显示的验证码。'],
  code_or_recovery: ['Code, or one of your recovery codes', '验证码或恢复码'],
  code_or_recovery_hint: [
    'Six digits from the app, or a recovery code such as abcd-efgh-ijkl-mnop.',
    '应用中的六位数字，或形如 abcd-efgh-ijkl-mnop 的恢复码。',
  ],
  code_wrong_here: ['The code is wrong or was already used. Wait for the next one.', '验证码错误或已被使用，请等待下一个。'],
  setup_title: ['Set a password', '设置密码'],
  setup_lead: [
    'Use the setup code from your administrator. It is valid once, for 24 hours. Setting the password ends your open sessions.',
    '请使用管理员提供的设置码，24 小时内有效，仅可使用一次。设置密码后，您已登录的会话会结束。',
  ],
  setup_code: ['Setup code', '设置码'],
  setup_go: ['Set the password', '设置密码'],
  setup_known: ['I have a password', '我已有密码'],
  setup_done: ['The password is set. Sign in with it.', '密码已设置，请使用新密码登录。'],
  password_new: ['New password', '新密码'],
  password_is: ['The password {what}.', '密码{what}。'],
  password_rules: [
    'At least 12 characters. Do not use your name or employee ID, a common password or repeated characters. Four unrelated words work well.',
    '至少 12 个字符；不能包含姓名或账号，不能是常见密码或重复字符。建议使用几个不相关的词组合。',
  ],
});
