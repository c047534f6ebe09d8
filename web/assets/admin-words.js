// Texts that several views of the administration share.

import { learn, sayOr } from './words.js';

learn({
  list_comma: [', ', '、'],
  person: ['Person', '人员'],
  employee_id: ['Employee ID', '员工编号'],
  role_held: ['Role', '角色'],
  active_role: ['Acts as', '当前身份'],
  no_role: ['no role', '无角色'],
  device: ['Device', '设备'],
  manage: ['Manage', '管理'],
  refresh: ['Refresh', '刷新'],
  how: ['How', '方式'],
  source_h5: ['IT help desk', 'IT 服务台'],
  source_itagent: ['Agent workspace', '坐席工作台'],
  source_itadmin: ['Administration', '管理后台'],
  method_qrcode: ['QR code', '扫码'],
  method_oauth2: ['WeCom', '企业微信'],
  method_bind: ['Binding', '绑定'],
  method_password: ['Password', '密码'],
  method_dev: ['Development', '开发登录'],
});

/** A word of the desk as people say it; one that is newer than this page, as it is. */
export function inWords(kind, word) {
  const key = `${kind}_${word}`;
  const text = sayOr(key);
  return text === key ? String(word || '') : text;
}
