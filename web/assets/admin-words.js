// Texts that several views of the administration share.

import { learn } from './words.js';

learn({
  person: ['Person', '人员'],
  employee_id: ['Employee ID', '{platform.zh}账号'],
  role_held: ['Role', '角色'],
  active_role: ['Active role', '当前角色'],
  no_role: ['no role', '无角色'],
  device: ['Device', '设备'],
  manage: ['Manage', '管理'],
  refresh: ['Refresh', '刷新'],
  how: ['How', '方式'],
});
