// The texts of the pages that ask a question.

import { learn } from './words.js';

learn({
  scan_title: ['Sign in to {desk} as {name}?', '以 {name} 的身份登录{desk}？'],
  unknown: ['unknown', '未知'],
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
  continue_over: ['This sign-in is used or has expired', '本次登录已使用或已过期'],
  start_again: ['Please start again.', '请重新开始。'],
});
