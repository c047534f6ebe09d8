// The texts of the questions to phones.

import { learn } from '../lib/words.js';

learn({
  no_question: ['No question to answer', '没有需要回答的请求'],
  no_question_text: ['Open the newest message in {platform.en} on this phone.', '请在此手机的{platform.zh}中打开最新的消息。'],
  approve_title: ['Do you approve this operation?', '是否批准此操作？'],
  approve_empty: ['(empty)', '（空）'],
  approve_pick: ['Which number is on the computer’s screen?', '电脑屏幕上显示的是哪个数字？'],
  approve_accepted: ['Approved', '已批准'],
  approve_accepted_next: [
    'The computer can do this now, once. You can close this page.',
    '电脑现在可以执行此操作，仅限一次。您可以关闭此页面。',
  ],
  approve_refused: ['Refused', '已拒绝'],
  approve_refused_next: [
    'Nothing was changed, and that session can ask for no approval for 10 minutes. If you did not begin this, another person is using your account: end the sessions that are not yours, and tell the IT help desk.',
    '未做任何更改，该会话 10 分钟内不能再次请求批准。如果不是您本人发起的，则有他人正在使用您的账号：请结束并非您本人的会话，并告知 IT 服务台。',
  ],
  approve_wrong: ['That is not the number on the screen', '与屏幕上的数字不一致'],
  approve_wrong_next: [
    'Nothing was changed, and this request has ended. If it was yours, use a code from your authenticator on the computer, or ask again in 10 minutes. If not, another person is using your account: end the sessions that are not yours, and tell the IT help desk.',
    '未做任何更改，此请求已结束。如果是您本人发起的，请在电脑上使用身份验证器的验证码，或在 10 分钟后重新发起；否则有他人正在使用您的账号：请结束并非您本人的会话，并告知 IT 服务台。',
  ],
  verify_title: ['Did you call IT?', '是您本人致电 IT 的吗？'],
  verify_lead: [
    '{name} from IT is on the phone with a person who says that they are you. Pick a number only if you called IT yourself.',
    'IT 的 {name} 正在与一位自称是您的人通话。仅当您本人主动致电 IT 时才选择数字。',
  ],
  verify_consequence: [
    'After your answer, IT may reset your password or authenticator for the person on the phone with {name}. “I did not call IT” stops that, and tells the administrators.',
    '您确认后，IT 可能会为正在与 {name} 通话的人重置您的密码或身份验证器。选择“我没有致电 IT”会阻止该操作，并通知管理员。',
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
  verify_wrong: ['That is not the number that was read out', '与对方念出的数字不一致'],
  verify_wrong_next: [
    'You are not verified, and the administrators have been told. If you are speaking with {name}, ask for a new question. If you did not call IT yourself, hang up, and call the help desk under the number that you know.',
    '未通过验证，并已通知管理员。如果您确实正在与 {name} 通话，且电话由您本人拨打，请对方重新发起；如果不是您本人致电 IT，请挂断，并拨打您所知道的服务台电话。',
  ],
});
