// The texts of the questions to phones.

import { learn } from './words.js';

learn({
  no_question: ['No question to answer', '没有需要回答的请求'],
  no_question_text: ['Open the newest message in {platform.en} on this phone.', '请在此手机的{platform.zh}中打开最新的消息。'],
  approve_title: ['Do you approve this operation?', '是否批准此操作？'],
  approve_pick: ['Which number is on the computer’s screen?', '电脑屏幕上显示的是哪个数字？'],
  approve_accepted: ['Approved', '已批准'],
  approve_accepted_next: [
    'The computer can do this now, once. You can close this page.',
    '电脑现在可以执行此操作，仅限一次。您可以关闭此页面。',
  ],
  approve_refused: ['Refused', '已拒绝'],
  approve_refused_next: [
    'Nothing was changed. If you did not begin this, another person is using your account: end the sessions that are not yours, and tell the IT help desk.',
    '未做任何更改。如果不是您本人发起的，则有他人正在使用您的账号：请结束并非您本人的会话，并告知 IT 服务台。',
  ],
  approve_wrong: ['That is not the number on the screen', '与屏幕上的数字不一致'],
  approve_wrong_next: [
    'Nothing was changed, and this request has ended. If it was yours, ask again on the computer. If not, another person is using your account: end the sessions that are not yours, and tell the IT help desk.',
    '未做任何更改，此请求已结束。如果是您本人发起的，请在电脑上重新发起；否则有他人正在使用您的账号：请结束并非您本人的会话，并告知 IT 服务台。',
  ],
  verify_title: ['Are you on the phone with {name}?', '您正在与 {name} 通话吗？'],
  verify_lead: [
    '{name} is signed in here for IT, and wants to be sure that it is you who is calling.',
    '{name} 已作为 IT 人员在此登录，需要确认来电的是您本人。',
  ],
  verify_pick: ['Which number does {name} tell you?', '{name} 告诉您的是哪个数字？'],
  verify_accepted: ['{name} knows that it is you', '{name} 已确认是您本人'],
  verify_accepted_next: [
    'Go on with the call. Nobody in IT needs your password or a code. You can close this page.',
    '请继续通话。IT 人员不需要您的密码或验证码。您可以关闭此页面。',
  ],
  verify_refused: ['Thank you. The administrators have been told', '谢谢，已通知管理员'],
  verify_refused_next: [
    'Another person may have pretended to be you, or to be from IT. If you are in a call, hang up, and call the help desk under the number that you know.',
    '可能有人冒充您或冒充 IT 人员。如果您正在通话，请挂断，并拨打您所知道的服务台电话。',
  ],
  verify_wrong: ['That is not the number of this call', '与通话中的数字不一致'],
  verify_wrong_next: [
    'You are not verified, and the administrators have been told. If you are speaking with {name}, ask for a new question. Otherwise hang up, and call the help desk under the number that you know.',
    '未通过验证，并已通知管理员。如果您确实正在与 {name} 通话，请对方重新发起；否则请挂断，并拨打您所知道的服务台电话。',
  ],
});
