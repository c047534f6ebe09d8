// Texts that several views of the administration share.

import { learn } from '../lib/words.js';

learn({
  person: ['Person', '人员'],
  employee_id: ['Employee ID', '{platform.zh}账号'],
  role_held: ['Role', '角色'],
  active_role: ['Active role', '当前角色'],
  no_role: ['no role', '无角色'],
  device: ['Device', '设备'],
  left_left: ['left {platform.en}', '已离开{platform.zh}'],
  left_suspended: ['disabled in {platform.en}', '在{platform.zh}中被禁用'],
  left_out_of_range: ['may not use the application', '不在应用可见范围内'],
  left_renamed: ['has another employee ID now', '已更换账号'],
  left_corporation_removed: ['corporation no longer connected', '企业已取消接入'],
  manage: ['Manage', '管理'],
  discard: ['Discard changes', '放弃修改'],
  refresh: ['Refresh', '刷新'],
  how: ['How', '方式'],
});
