// The texts that scripts show, in English and in Chinese; fixed texts are in the pages themselves.

import { language } from '../client/api.js';

export { language };

const WORDS = {
  sign_in: ['Sign in', '登录'],
  h5: ['the IT help desk', ' IT 服务台'],
  itagent: ['the agent workspace', '坐席工作台'],
  itadmin: ['desk administration', '管理后台'],
  qr_alt: ['QR code for signing in with {platform.en}', '{platform.zh}登录二维码'],
  loading: ['One moment…', '请稍候…'],
  waiting: ['Waiting for your phone', '等待手机扫码'],
  scanned: ['{name} scanned the code. Confirm on the phone.', '{name} 已扫码\n请在手机上确认'],
  scanned_match: ['{name} scanned the code. Pick {number} on the phone.', '{name} 已扫码\n请在手机上选择 {number}'],
  match: ['Pick this number on your phone', '请在手机上选择此数字'],
  confirmed: ['Signed in', '登录成功'],
  code_cancelled: ['Cancelled on the phone', '已在手机上取消'],
  code_refused: ['The sign-in was refused on the phone', '手机上的登录请求未被接受'],
  code_wrong_number: [
    'Another number was picked on the phone. Scan the new code and pick the number below it.',
    '手机上选择了其他数字。请扫描新的二维码，并选择其下方的数字。',
  ],
  code_not_a_member: ['The {platform.en} account that scanned is not from our company', '扫码的{platform.zh}账号不属于本企业'],
  code_no_role: [
    'The person who scanned has no access yet. An administrator can assign a role.',
    '扫码人还没有访问权限，请联系管理员分配角色。',
  ],
  code_left: ['The person who scanned is no longer active in {platform.en}', '扫码人的{platform.zh}账号已停用或已退出企业'],
  code_disabled: ['The account of the person who scanned is disabled', '扫码人的账号已停用'],
  code_address_not_allowed: [
    'The roles of the person who scanned may not be used from this network',
    '扫码人的角色不允许在此网络中使用',
  ],
  expired: ['This code has expired', '二维码已过期'],
  left: ['{time} left', '剩余 {time}'],
  offline: ['You are offline. This page continues automatically when the network is back.', '网络已断开，恢复后本页面会自动继续。'],
  ticket_gone: ['This sign-in has expired. Please start again.', '本次登录已过期，请重新开始。'],
  bind_refused: [
    'The sign-in failed. Check your employee ID, or ask the IT help desk to approve you.',
    '登录失败。请核对{platform.zh}账号，或联系 IT 服务台为您开通。',
  ],
  scan_again: ['Then scan the code on the computer again.', '完成后请重新扫描电脑上的二维码。'],
  again_not: ['You did not sign in again. You are still signed in.', '未能重新登录，您原来的会话仍然有效。'],
  signed_out: ['You are signed out.', '您已退出登录。'],
  ended: ['Your session has ended. Please sign in again.', '登录已失效，请重新登录。'],
  ended_signed_out: ['You were signed out elsewhere. Please sign in again.', '您已在其他地方退出登录，请重新登录。'],
  ended_kicked: [
    'Your session was ended by an administrator, or because of too many sessions. Please sign in again.',
    '您的登录已被管理员结束，或因登录设备过多而失效，请重新登录。',
  ],
  ended_disabled: ['Your account was disabled. Ask your administrator to enable it.', '您的账号已停用，请联系管理员重新启用。'],
  ended_left: [
    'You were signed out: in {platform.en} you have left, are disabled, or may not use this application. Its administrator can change that.',
    '您已被退出登录：{platform.zh}显示您已离职、已被禁用或不在应用的可见范围内，请联系{platform.zh}管理员。',
  ],
  ended_expired: ['Your session has expired. Please sign in again.', '登录已到期，请重新登录。'],
  admin: ['Administrator', '管理员'],
  agent: ['Agent', '坐席'],
  user: ['Employee', '员工'],
  supervisor: ['Supervisor', '主管'],
  security: ['Security', '安全员'],
  trouble: ['Something went wrong', '出错了'],
  framed: [
    'For your security, this page does not work inside another page. Open it in its own window.',
    '为了您的安全，本页面不能嵌入其他页面，请在独立窗口中打开。',
  ],
  not_loaded_page: ['This page could not be loaded completely. Check your connection, then try again.', '页面未能完整加载，请检查网络后重试。'],
  ref: ['Reference {ref}', '参考编号 {ref}'],
  error_denied: ['You declined the sign-in', '您未同意登录'],
  error_denied_next: ['Nothing was changed. Start again when you are ready.', '未做任何更改，准备好后可重新开始。'],
  error_invalid_code: ['This sign-in is no longer valid', '本次登录已失效'],
  error_invalid_code_next: ['It was already used or has expired. Please start again.', '可能已被使用或已超时，请重新开始。'],
  error_not_a_member: ['This {platform.en} account is not from our company', '此{platform.zh}账号不属于本企业'],
  error_not_a_member_next: [
    'Switch to your company account in {platform.en}, or ask the IT help desk to add you.',
    '请在{platform.zh}中切换到本企业账号，或联系 IT 服务台添加。',
  ],
  error_no_role: ['You have no access yet', '您还没有访问权限'],
  error_no_role_next: ['Ask your administrator for a role, then sign in again.', '请联系管理员分配角色后重新登录。'],
  error_disabled: ['Your account is disabled', '您的账号已停用'],
  error_disabled_next: ['It is disabled here or in {platform.en}. Ask the IT help desk, and give them the reference.', '账号已在本系统或{platform.zh}中停用。请联系 IT 服务台，并告知参考编号。'],
  error_holder_unconfirmed: ['An administrator must confirm you first', '需由管理员先确认您的身份'],
  error_holder_unconfirmed_next: [
    'Your {platform.en} account had another holder before. Ask the IT help desk in person, then sign in again.',
    '您的{platform.zh}账号此前属于另一人。请当面联系 IT 服务台确认，然后重新登录。',
  ],
  error_platform_unavailable: ['{platform.en} cannot be reached', '暂时无法连接{platform.zh}'],
  error_platform_unavailable_next: [
    'Your account is fine. Try again in a few minutes.',
    '您的账号没有问题，请几分钟后再试。',
  ],
  password_meanwhile: [' Agents can sign in with their password meanwhile.', '在此期间，坐席可使用密码登录。'],
  other_tab: ['You are signed in as {name} in another tab.', '您已在另一个标签页中以 {name} 的身份登录。'],
  other_tab_gone: [
    'The other tab was closed or signed out. Please sign in here.',
    '另一个标签页已关闭或已退出登录，请在此登录。',
  ],
  error_internal: ['Something went wrong on our side', '系统出了点问题'],
  error_internal_next: ['Try again. If it continues, give the reference to the IT help desk.', '请重试。如仍然出现，请将参考编号告知 IT 服务台。'],
};

const at = language === 'en' ? 0 : 1;

/** A text, with its placeholders filled in. */
export function say(key, values = {}) {
  return WORDS[key][at].replace(/\{(\w+)\}/g, (_, blank) => values[blank]);
}

/** A text if there is one of this name, else the name itself: for values of the service that are newer than this page. */
export const sayOr = (key) => (Object.prototype.hasOwnProperty.call(WORDS, key) ? WORDS[key][at] : key);

/** Adds the texts that only some views need. */
export const learn = (more) => Object.assign(WORDS, more);
