// The texts of the page that shows the API.

import { learn } from './words.js';

learn({
  docs_unreadable: ['The description cannot be read. Reload the page.', '无法读取接口文档，请刷新页面。'],
  docs_who: ['Who may call', '调用权限'],
  who_anyone: ['Anyone', '任何人'],
  who_entrant: ['Whoever holds a token, of a session or of half a sign-in', '持有会话令牌或第一步登录令牌者'],
  who_holder: ['Whoever holds the token of a session', '持有会话令牌者'],
  who_caller: ['Whoever is signed in and still holds the active role', '已登录且仍拥有当前角色者'],
  who_reader: ["Whoever is signed in in a role that may read others' accounts", '已登录且当前角色可查看他人账户者'],
  who_admin: ['Whoever is signed in as an administrator', '当前角色为管理员者'],
  who_service: ['A service that shows a key which is good for it', '持有相应权限服务密钥的服务'],
  who_high_risk: ['An administrator with a fresh one-time password in X-OTP-Code', '管理员，并在 X-OTP-Code 中提供新的一次性密码'],
  who_developer: ['Anyone, in development mode only', '任何人，仅限开发模式'],
  who_operator: ["Operators' networks", '运维网络'],
  docs_parameters: ['In the address and the head', '地址与请求头参数'],
  docs_body: ['In the body', '请求体'],
  docs_answer: ['Success: data', '成功应答：data'],
  docs_plain: ['Success: {kind}, without the envelope', '成功应答：{kind}（无统一格式）'],
  docs_redirect: ['Success: 303, the browser is sent on', '成功应答：303 跳转'],
  docs_failures: ['Failures', '失败应答'],
  docs_example: ['Example', '示例'],
  docs_required: ['required', '必填'],
  docs_optional: ['optional', '可选'],
  docs_or_null: ['or null', '或 null'],
  docs_or: ['or', '或'],
  docs_list_of: ['list of {of}', '{of} 列表'],
  docs_from_to: ['{least} to {most}', '{least} 至 {most}'],
  docs_path: ['in the path', '路径参数'],
  docs_query: ['in the query', '查询参数'],
  docs_header: ['in the head', '请求头'],
});
