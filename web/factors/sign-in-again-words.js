// The texts around signing in again in place.

import { learn } from '../lib/words.js';

learn({
  again_title: ['Confirm your identity', '请确认是您本人'],
  again_scan: [
    'This requires a recent sign-in. Scan this code with {platform.en} on your phone and confirm there. This page stays open.',
    '此操作需要您在几分钟内登录过。请用手机{platform.zh}扫描此二维码并确认，本页面会保持不变。',
  ],
  again_here: [
    'This requires a recent sign-in. Sign in with {platform.en} again; you will return to this page.',
    '此操作需要您在几分钟内登录过。请通过{platform.zh}重新登录，完成后会回到本页面。',
  ],
  again_go: ['Sign in again', '重新登录'],
  again_renew: ['New code', '刷新二维码'],
  again_other_person: [
    'Another person confirmed on the phone. Scan with your own {platform.en} account.',
    '手机上确认的是其他人，请使用您本人的{platform.zh}扫码。',
  ],
  again_other_came: [
    'Another person signed in with {platform.en}. Nothing has changed: sign in again with your own {platform.en} account.',
    '{platform.zh}中登录的是其他人，当前登录未改变。请使用您本人的{platform.zh}账号重新登录。',
  ],
  again_not_ended: [
    'You signed in again, but the previous session could not be ended. End it in the list of your sessions.',
    '您已重新登录，但之前的会话未能结束，请在会话列表中将其结束。',
  ],
  again_simulated: ['Open the simulated phone', '打开模拟手机'],
  again_has_code: ['I have a setup code from an administrator', '我有管理员提供的设置码'],
  again_code: ['Setup code', '设置码'],
  again_code_go: ['Use the setup code', '使用设置码'],
});
