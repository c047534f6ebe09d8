// The texts for the values in the login log. A value that is newer than this page is shown as it is.

import './admin-words.js';
import { learn } from './words.js';

/** All events, in the order in which people look for them. */
export const EVENTS = [
  'sign_in', 'sign_in_refused', 'refusals_summarised', 'sign_in_disowned', 'logout', 'session_ended', 'logout_all', 'switch_role', 'switch_role_refused',
  'otp_refused', 'device_bound', 'device_unbound', 'password_changed', 'password_refused', 'administration_refused',
  'employee_added', 'employee_disabled', 'employee_enabled', 'roles_changed', 'sessions_ended',
  'agent_added', 'agent_role_changed', 'agent_disabled', 'agent_enabled', 'agent_unlocked', 'device_reset', 'password_reset',
  'link_approved', 'link_removed', 'ip_rules_changed', 'service_key_created', 'service_key_revoked', 'log_restarted',
  'clock_set',
];

/** All reasons of refusals. */
export const REASONS = [
  'unknown_employee', 'disabled', 'no_role', 'role_not_held', 'role_taken_away', 'address_not_allowed', 'denied', 'cancelled',
  'invalid_code', 'not_a_member', 'somebody_else', 'over', 'not_an_agent', 'password_wrong', 'no_password', 'password_off',
  'platform_works', 'otp_wrong', 'setup_over', 'too_many_failures', 'locked', 'old_password_wrong', 'not_proven', 'recent_sign_in_needed', 'setup_code',
  'role_needed', 'last_admin', 'would_shut_you_out', 'signed_out', 'kicked', 'expired', 'unknown',
];

/** The ways to sign in. */
export const METHODS = ['qrcode', 'oauth2', 'bind', 'password', 'dev'];

learn({
  event_sign_in: ['Signed in', '登录'],
  event_sign_in_refused: ['Sign-in refused', '登录被拒绝'],
  event_refusals_summarised: ['More anonymous refusals, summarised', '其余匿名拒绝（汇总）'],
  event_sign_in_disowned: ['Sign-in reported: “not me”', '报告“非本人登录”'],
  event_logout: ['Signed out', '退出登录'],
  event_session_ended: ['Ended one of their own sessions', '结束了自己的另一会话'],
  event_logout_all: ['Signed out of several sessions', '在多处退出登录'],
  event_switch_role: ['Switched role', '切换角色'],
  event_switch_role_refused: ['Role switch refused', '切换角色被拒绝'],
  event_otp_refused: ['One-time password refused', '一次性密码被拒绝'],
  event_device_bound: ['Bound a device', '绑定设备'],
  event_device_unbound: ['Unbound their device', '解绑设备'],
  event_password_changed: ['Set their password', '设置密码'],
  event_password_refused: ['Password not set', '设置密码被拒绝'],
  event_administration_refused: ['Administration refused', '管理操作被拒绝'],
  event_employee_added: ['Employee added', '添加员工'],
  event_employee_disabled: ['Employee disabled', '停用员工'],
  event_employee_enabled: ['Employee enabled', '启用员工'],
  event_roles_changed: ['Roles changed', '修改角色'],
  event_sessions_ended: ['Sessions ended by an administrator', '会话被管理员结束'],
  event_agent_added: ['Agent added', '添加坐席'],
  event_agent_role_changed: ['Agent’s role changed', '修改坐席角色'],
  event_agent_disabled: ['Agent disabled', '停用坐席'],
  event_agent_enabled: ['Agent enabled', '启用坐席'],
  event_agent_unlocked: ['Agent unlocked', '解锁坐席'],
  event_device_reset: ['Device reset', '重置设备'],
  event_password_reset: ['Password reset', '重置密码'],
  event_link_approved: ['Link approved', '批准关联'],
  event_link_removed: ['Link removed', '删除关联'],
  event_ip_rules_changed: ['Allow-lists changed', '修改地址白名单'],
  event_service_key_created: ['Service key created', '创建服务密钥'],
  event_log_restarted: ['Audit log restarted with a new key', '审计日志改用新密钥重新开始'],
  event_service_key_revoked: ['Service key revoked', '吊销服务密钥'],
  event_clock_set: ['Service time set', '调整服务时间'],
});
