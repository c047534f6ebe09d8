// The texts of the pages that ask a question.

import { learn } from '../lib/words.js';

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
  scan_pick: ['Which number is on the screen?', '屏幕上显示的是哪个数字？'],
  error_wrong_number: ['That is not the number on the screen', '与屏幕上的数字不一致'],
  error_wrong_number_next: [
    'Nobody was signed in. To sign in, get a new code on the computer, scan it and pick the number below it. If you did not begin this sign-in, another person did: tell the IT help desk.',
    '未登录任何账号。如需登录，请在电脑上刷新二维码，重新扫描并选择二维码下方的数字。如果本次登录不是您发起的，则是他人所为，请告知 IT 服务台。',
  ],
  error_not_asked: ['This question is for another person', '此请求是发给其他人的'],
  error_not_asked_next: [
    'Only the person who received the message can answer it. If you have a question of your own, open your own message in {platform.en}.',
    '只有收到消息的本人可以回答。如果您本人也收到了请求，请在{platform.zh}中打开自己的消息。',
  ],
  error_phone_needed: ['Open the message on your phone', '请在手机上打开这条消息'],
  error_phone_needed_next: [
    'This question is answered on a phone, not on a computer. Open {platform.en} on your phone and touch the message there.',
    '此请求需要在手机上回答，不能在电脑上回答。请打开手机上的{platform.zh}，点击这条消息。',
  ],
  error_question_over: ['This question is over', '此请求已结束'],
  error_question_over_next: [
    'It was answered, was opened again elsewhere, or its two minutes are over. It can be asked again; then open the newest message.',
    '可能已回答、已在别处重新打开，或已超过两分钟。对方可以重新发起，届时请打开最新的消息。',
  ],
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
