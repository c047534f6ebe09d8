// The texts of the page that shows the API.

import { learn } from './words.js';

learn({
  docs_unreadable: ['The API description cannot be loaded. Reload the page.', '无法读取接口文档，请刷新页面。'],
  docs_who: ['Who may call', '调用权限'],
  who_anyone: ['Anyone', '任何人'],
  who_entrant: ['The holder of a session token or of a half-authenticated token', '持有会话令牌或半认证令牌者'],
  who_holder: ['The holder of a session token', '持有会话令牌者'],
  who_caller: ['A signed-in user who still holds the active role', '已登录且仍拥有当前角色者'],
  who_reader: ['A signed-in user whose active role may read other accounts', '已登录且当前角色可查看他人账户者'],
  who_admin: ['A signed-in user whose active role is administrator', '当前角色为管理员者'],
  who_service: ['A service with a service key of the required scope', '持有相应权限服务密钥的服务'],
  who_high_risk: ['An administrator with a fresh one-time password in X-OTP-Code', '管理员，并在 X-OTP-Code 中提供新的一次性密码'],
  who_developer: ['Anyone, in development mode only', '任何人，仅限开发模式'],
  who_operator: ["Operators' networks", '运维网络'],
  docs_parameters: ['Path, query and headers', '地址与请求头参数'],
  docs_body: ['Body', '请求体'],
  docs_answer: ['Success: data', '成功应答：data'],
  docs_plain: ['Success: {kind}, without the envelope', '成功应答：{kind}（无统一格式）'],
  docs_redirect: ['Success: 303 redirect', '成功应答：303 跳转'],
  docs_failures: ['Failures', '失败应答'],
  docs_example: ['Example', '示例'],
  docs_required: ['required', '必填'],
  docs_optional: ['optional', '可选'],
  docs_or_null: ['or null', '或 null'],
  docs_or: ['or', '或'],
  docs_list_of: ['list of {of}', '{of} 列表'],
  docs_from_to: ['{least} to {most}', '{least} 至 {most}'],
  docs_path: ['path', '路径参数'],
  docs_query: ['query', '查询参数'],
  docs_header: ['header', '请求头'],
});
