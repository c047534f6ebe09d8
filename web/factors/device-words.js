// The texts around one-time passwords.

import { learn } from '../lib/words.js';

learn({
  device_scan: ['Set up your authenticator', '绑定身份验证器'],
  device_how: [
    'Scan this QR code with an authenticator app on your phone, then enter the six digits that it shows.',
    '请用手机上的身份验证器应用扫描此二维码，然后输入应用显示的六位数字。',
  ],
  device_picture: ['QR code for the authenticator app', '身份验证器绑定二维码'],
  device_type: ['Cannot scan? Enter this key in the app:', '无法扫描？请在应用中手动输入此密钥：'],
  copy_secret: ['Copy the key', '复制密钥'],
  device_bind: ['Confirm', '确认绑定'],
  device_cancel: ['Not now', '暂不绑定'],
  device_again: ['Start again', '重新开始'],
  device_there: [
    'An authenticator is already set up. Use it, or remove it first.',
    '已绑定身份验证器，请直接使用，或先解绑。',
  ],
  device_over: ['This took too long. Start again and scan the new QR code.', '操作超时，请重新开始并扫描新的二维码。'],
  code_wrong_device: [
    'The code is wrong. Make sure that your phone sets its time automatically, and try the next code.',
    '验证码不正确。请确认手机时间为自动设置，然后输入下一个验证码。',
  ],
  codes_title: ['Keep these recovery codes', '请保存恢复码'],
  codes_lead: [
    'If you lose your phone, each code replaces your authenticator once. The codes are shown only now.',
    '手机丢失时，每个恢复码可代替身份验证器使用一次。恢复码仅在此显示一次。',
  ],
  codes_label: ['Recovery codes', '恢复码'],
  codes_paper: [
    'deskpass recovery codes of {owner}, {day}. Each code is valid once. Keep them in a safe place.',
    'deskpass 恢复码，{owner}，{day}。每个只能使用一次，请妥善保管。',
  ],
  codes_print: ['Print', '打印'],
  codes_copy: ['Copy', '复制'],
  codes_save: ['Save as a file', '保存为文件'],
  codes_seen: ['I have written them down', '我已妥善保存'],
  codes_done: ['Done', '完成'],
  codes_unkept: ['Your recovery codes are still shown. They cannot be shown again once you leave.', '恢复码仍在显示中，离开后将无法再次查看。'],
});
