// The texts for login methods, sources and reasons, shared by many views.

import './desk-words.js';
import { h } from '../lib/dom.js';
import { learn, say, sayOr } from '../lib/words.js';

learn({
  source_h5: ['IT help desk', 'IT 服务台'],
  source_itagent: ['Agent workspace', '坐席工作台'],
  source_itadmin: ['Administration', '管理后台'],
  source_oidc: ['Another program', '其他应用'],
  signed_in_programs: ['Programs: {programs}', '应用：{programs}'],
  method_qrcode: ['QR code', '扫码'],
  method_oauth2: ['{platform.en}', '{platform.zh}'],
  method_bind: ['Account binding', '账号绑定'],
  method_password: ['Password', '密码'],
  method_dev: ['Development', '开发模式'],
  reason_unknown_employee: ['unknown employee', '员工不存在'],
  reason_left_platform: ['left, or disabled in {platform.en}', '已离职或在{platform.zh}中被禁用'],
  reason_disabled_here: ['disabled here', '已在本系统停用'],
  reason_disabled: ['account disabled', '账号已停用'],
  reason_holder_unconfirmed: ['another person has the ID, not confirmed', '账号已转给另一人，待确认'],
  reason_no_role: ['has no role', '没有角色'],
  reason_role_not_held: ['does not hold the role', '没有该角色'],
  reason_role_taken_away: ['role revoked', '角色已被收回'],
  reason_address_not_allowed: ['address not on the allow-list', '地址不在白名单内'],
  reason_denied: ['declined in {platform.en}', '在{platform.zh}中未同意'],
  reason_cancelled: ['cancelled on the phone', '在手机上取消'],
  reason_invalid_code: ['{platform.en} code used or expired', '{platform.zh}授权码已使用或过期'],
  reason_codes_limited: ['too many sign-ins that did not begin here, or with codes that are not valid', '未从本系统发起或授权码无效的登录过多'],
  reason_not_a_member: ['not a member of our company', '非本企业成员'],
  reason_somebody_else: ['the code belongs to another person', '授权码属于他人'],
  reason_over: ['already decided or expired', '已处理或已超时'],
  reason_not_asked: ['opened by another person than the one asked', '打开者不是被询问的人'],
  reason_phone_needed: ['not opened on a phone', '未在手机上打开'],
  reason_wrong_number: ['wrong number picked on the phone', '手机上选错数字'],
  reason_approval_invalid: ['approval used, expired or for something else', '批准已使用、已过期或与操作不符'],
  reason_approvals_paused: ['an approval was refused on the phone just before', '此前手机已拒绝批准'],
  reason_caller_not_verified: ['caller not verified', '来电人未经验证'],
  reason_cannot_ask: ['unknown, not admitted, or not reachable on the phone', '员工不存在、不可用或手机无法联系'],
  reason_not_an_agent: ['not an agent', '不是坐席'],
  reason_device_not_allowed: ['role does not allow an authenticator', '角色不允许绑定身份验证器'],
  reason_password_wrong: ['wrong password', '密码错误'],
  reason_no_password: ['has no password yet', '尚未设置密码'],
  reason_password_off: ['password sign-in is disabled', '密码登录已关闭'],
  reason_platform_works: ['password not accepted while {platform.en} is available', '{platform.zh}可用，不接受密码登录'],
  reason_otp_wrong: ['wrong or used code', '验证码错误或已使用'],
  reason_setup_over: ['setup expired', '绑定已超时'],
  reason_too_many_failures: ['too many failed attempts', '错误次数过多'],
  reason_locked: ['locked', '已锁定'],
  reason_old_password_wrong: ['wrong old password', '旧密码错误'],
  reason_not_proven: ['not signed in through {platform.en}', '未通过{platform.zh}登录'],
  reason_recent_sign_in_needed: ['recent sign-in required', '登录时间过久'],
  reason_oidc_request_gone: ['the request of the program expired or is of another browser', '应用的登录请求已过期或来自其他浏览器'],
  reason_client_not_allowed: ['may not use the program', '无权使用该应用'],
  reason_setup_code: ['missing, wrong or expired setup code', '缺少设置码，或设置码错误、已过期'],
  reason_role_needed: ['not permitted for the active role', '当前角色无权限'],
  reason_temporary_role: ['the administrator role is temporary', '管理员角色是临时角色'],
  reason_last_admin: ['the last administrator', '最后一名管理员'],
  reason_would_shut_you_out: ['would lock out the administrator', '会使管理员自己无法使用'],
  reason_signed_out: ['signed out in the meantime', '期间已退出登录'],
  reason_kicked: ['the session was ended in the meantime', '期间会话已被结束'],
  reason_left: ['left {platform.en} in the meantime', '期间已离开{platform.zh}'],
  reason_expired: ['the session expired in the meantime', '期间会话已过期'],
  reason_unknown: ['the session no longer existed', '期间会话已不存在'],
});

/** The programs that a session signed in to, as a line below another; nothing without any. */
export const programsOf = ({ clients = [] }) =>
  clients.length > 0 && h('small', { class: 'programs' }, say('signed_in_programs', {
    programs: clients.map((one) => one.name || one.client_id || String(one)).join(say('comma')),
  }));

/** The text for a value of the service; a value that is newer than this page is shown as it is. */
export function wordFor(kind, word) {
  const key = `${kind}_${word}`;
  const text = sayOr(key);
  return text === key ? String(word || '') : text;
}
