// The texts of the pages that ask a question.

import { learn } from './words.js';

learn({
  scan_title: ['Sign in to {desk} as {name}?', '以 {name} 的身份登录{desk}？'],
  scan_program: ['{program} ({host})', ' {program}（{host}）'],
  scan_whole_account: [
    'This signs that browser in to your account here, not only to {program}.',
    '该浏览器将登录您在此处的账号，而不仅仅是 {program}。',
  ],
  unknown: ['unknown', '未知'],
  scan_confirmed: ['Confirmed', '已确认'],
  scan_waiting: ['Waiting for the computer to finish signing in…', '正在等待电脑完成登录…'],
  scan_unfinished: ['The computer did not finish signing in', '电脑未能完成登录'],
  scan_unfinished_text: [
    'Its page was closed or lost its connection. Open the sign-in page there again and scan the new code.',
    '电脑上的页面可能已关闭或断开网络。请在电脑上重新打开登录页，并扫描新的二维码。',
  ],
  scan_unknown: ['Please look at the computer', '请查看电脑'],
  scan_unknown_text: [
    'This page was inactive for too long to know how the sign-in ended. If the computer is not signed in, scan the new code there.',
    '本页面长时间未活动，无法得知登录结果。如果电脑尚未登录，请扫描新的二维码。',
  ],
  scan_done: ['You are signed in on the computer', '已在电脑上登录'],
  close: ['You can close this page.', '您可以关闭此页面。'],
  scan_cancelled: ['Cancelled', '已取消'],
  cancelled_text: ['The sign-in was cancelled. You can close this page.', '登录已取消。您可以关闭此页面。'],
  scan_over: ['This code is used or has expired', '二维码已使用或已过期'],
  scan_over_text: ['Get a new code on the computer and scan it again.', '请在电脑上刷新二维码后重新扫描。'],
  nothing: ['No sign-in to confirm', '没有需要确认的登录'],
  nothing_text: ['Start again from the sign-in page.', '请从登录页重新开始。'],
  continue_title: ['Continue as {name}?', '以 {name} 的身份继续？'],
  continue_lead: ['You will be signed in to {desk} in this browser.', '您将在此浏览器中登录{desk}。'],
  continue_lead_program: [
    'You will be signed in to your account in this browser, and then continue to the program that sent you.',
    '您将在此浏览器中登录您的账号，然后继续前往将您带来的应用。',
  ],
  continue_over: ['This sign-in is used or has expired', '本次登录已使用或已过期'],
  start_again: ['Please start again.', '请重新开始。'],
});
