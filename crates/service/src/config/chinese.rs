//! The problems of the settings in Chinese, for `deskpass doctor`. A phrase of the English text, with holes for names and values,
//! has its Chinese here; a test makes sure that no phrase is forgotten.

/// Translates a text phrase by phrase. What has no phrase here, such as an error of the system, stays as it is.
pub(super) fn in_chinese(text: &str) -> String {
    let phrase = PHRASES.iter().find_map(|(english, chinese)| Some((*chinese, holes(english, text)?)));
    let Some((chinese, values)) = phrase else { return text.to_owned() };
    let mut parts = chinese.split("{}");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(values).fold(first, |so_far, (part, value)| so_far + &in_chinese(value) + part)
}

/// What stands in the holes of a phrase, if the text has its form. A hole takes as little as it can, the last one all the rest.
fn holes<'a>(phrase: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = phrase.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let end = match (part, parts.peek()) {
            ("", None) => rest.len(),
            (part, None) => rest.strip_suffix(part)?.len(),
            (part, Some(_)) => rest.find(part)?,
        };
        found.push(rest.get(..end)?);
        rest = rest.get(end + part.len()..)?;
    }
    rest.is_empty().then_some(found)
}

/// More specific phrases stand before those that would also fit.
#[rustfmt::skip]
const PHRASES: &[(&str, &str)] = &[
    // Where a value comes from.
    ("default", "默认值"),
    ("default ({})", "默认值（{}）"),
    ("required in {}", "{}必填"),
    ("environment {}", "环境变量 {}"),
    ("file {} ({})", "文件 {}（{}）"),
    ("development", "开发模式"),
    ("production", "生产模式"),
    // Sources.
    ("the settings file cannot be read: {}", "无法读取配置文件：{}"),
    ("see that it is there and readable, or name another with --config", "请确认文件存在且可读，或用 --config 指定其他文件"),
    ("`deskpass config example` shows how each key is written", "各项的写法见 `deskpass config example`"),
    ("`deskpass config matrix` shows how a matrix is written", "矩阵的写法见 `deskpass config matrix`"),
    ("{} stands in the file twice", "{} 在文件中出现了两次"),
    ("remove one of the two", "请删除其中一处"),
    ("this is not TOML: {}", "不是合法的 TOML：{}"),
    ("its value is not UTF-8", "其值不是 UTF-8"),
    ("set it to plain text", "请改为普通文本"),
    ("the file cannot be read: {}", "无法读取该文件：{}"),
    ("check its path and permissions", "请检查路径和权限"),
    ("{} is set too", "{} 也设置了"),
    ("unset one of the two", "请取消其中一个"),
    ("{} cannot be read: {}", "无法读取 {}：{}"),
    ("see that it is there and readable, or leave the setting out", "请确认文件存在且可读，或去掉该配置"),
    ("{} is a section, not a key", "{} 是一个小节，不是配置项"),
    ("its keys are {}", "其中的配置项有 {}"),
    ("the nearest known key is {}", "最接近的配置项是 {}"),
    // Clients of OpenID Connect.
    ("begin each client with [[oidc.clients]]", "每个客户端以 [[oidc.clients]] 开头"),
    ("this is a single table: its name has single brackets", "这是单个表：名称只有一层方括号"),
    ("only the settings file has clients", "客户端只能写在配置文件中"),
    ("begin each with [[oidc.clients]] there", "请在其中以 [[oidc.clients]] 开头逐个填写"),
    ("another client has the same id", "另一个客户端使用了相同的 id"),
    ("give each client an id of its own", "请为每个客户端使用不同的 id"),
    // Role rules.
    ("begin each rule with [[role_rules]]", "每条规则以 [[role_rules]] 开头"),
    ("only the settings file has role rules", "角色规则只能写在配置文件中"),
    ("begin each with [[role_rules]] there", "请在其中以 [[role_rules]] 开头逐条填写"),
    ("another rule says the same", "另一条规则与此相同"),
    ("it has no role", "缺少 role"),
    ("set role to the role that the members hold", "请将 role 设为成员所拥有的角色"),
    ("it has both a department and a tag", "同时设置了 department 和 tag"),
    ("make two rules of it", "请拆分为两条规则"),
    ("it has neither a department nor a tag", "既没有 department 也没有 tag"),
    ("set one of the two", "请设置其中一个"),
    ("it has no id", "缺少 id"),
    ("set id to what is entered in the client", "请将 id 设为在客户端中填写的标识"),
    ("a confidential client needs a secret", "confidential 客户端需要密钥"),
    ("set secret_file; or kind = \"public\", if the client authenticates with PKCE alone", "请设置 secret_file；如客户端只用 PKCE 认证，请设置 kind = \"public\""),
    ("only a confidential client has a secret", "只有 confidential 客户端才有密钥"),
    ("remove it, or set kind = \"confidential\"", "请删除，或设置 kind = \"confidential\""),
    ("the client has both secret and secret_file", "同时设置了 secret 和 secret_file"),
    ("there is no role {}", "没有角色 {}"),
    ("name must be 1 to {} visible characters without leading or trailing spaces", "name 须为 1 到 {} 个可见字符，首尾不能有空格"),
    ("redirect_uris needs at least one address", "redirect_uris 至少需要一个地址"),
    ("{} has more than {} entries", "{} 超过 {} 项"),
    ("pkce can be optional for confidential clients only", "只有 confidential 客户端的 pkce 可以为 optional"),
    ("origins are for public clients only", "只有 public 客户端可以设置 origins"),
    ("scopes must contain openid", "scopes 必须包含 openid"),
    ("groups: a name must be 1 to {} visible characters", "groups：名称须为 1 到 {} 个可见字符"),
    ("{}: {}: not an absolute http or https address in its normal form", "{}：{}：不是规范形式的 http 或 https 绝对地址"),
    ("{}: {}: must not have a fragment", "{}：{}：不能带 # 片段"),
    ("{}: {}: must not contain a user name or a password", "{}：{}：不能包含用户名或密码"),
    ("{}: {}: longer than 2048 characters", "{}：{}：超过 2048 个字符"),
    ("{}: {}: must be an origin: scheme, host and port alone, without a slash at its end", "{}：{}：必须是来源：只含协议、主机和端口，末尾没有斜杠"),
    ("{}: {}: must begin with https://, except on 127.0.0.1, [::1] and localhost", "{}：{}：必须以 https:// 开头，127.0.0.1、[::1] 和 localhost 除外"),
    ("`deskpass config example` lists every key", "所有配置项见 `deskpass config example`"),
    ("there is no such key", "没有该配置项"),
    ("set {} itself", "请直接设置 {}"),
    ("only secrets are read from a file", "只有密钥可以从文件读取"),
    ("the nearest known one is {}; unset it if it is not for deskpass", "最接近的是 {}；如与 deskpass 无关，请取消该变量"),
    ("`deskpass config example` lists every setting; unset it if it is not for deskpass", "所有配置项见 `deskpass config example`；如与 deskpass 无关，请取消该变量"),
    ("there is no such setting", "没有该配置"),
    // The access matrix.
    ("this is not a scope", "这不是范围"),
    ("there is no scope {}", "没有范围 {}"),
    ("the nearest known one is {}", "最接近的是 {}"),
    ("this is not a table", "这不是表"),
    ("this {} is missing, and a matrix names every one", "缺少该 {}，矩阵必须列出每一个"),
    ("there is no such {}", "没有该 {}"),
    // Rules.
    ("it is not set, and production needs it", "未设置，而生产模式需要它"),
    ("set it in the settings file or as {} or {}; expected {}", "请在配置文件中设置，或设置环境变量 {} 或 {}；应为{}"),
    ("set it in the settings file or as {}; expected {}", "请在配置文件中设置，或设置环境变量 {}；应为{}"),
    ("it does not belong to platform.kind = {}", "不属于 platform.kind = {}"),
    ("the nearest key of {} is {}; remove this one, or set another platform.kind", "{} 最接近的配置项是 {}；请删除此项，或更改 platform.kind"),
    ("{} has no AgentId; remove it, or set another platform.kind", "{} 没有 AgentId；请删除此项，或更改 platform.kind"),
    ("platform.kind is not set, so it is {}; set it to {}, or remove this key", "platform.kind 未设置，因此为 {}；请将其设为{}，或删除此项"),
    ("remove it, or set another platform.kind", "请删除此项，或更改 platform.kind"),
    ("it is not set, and a copy needs a PostgreSQL to go to", "未设置，而复制需要目标 PostgreSQL"),
    ("name it with --to, or set store.url (DESKPASS_STORE__URL or DESKPASS_STORE__URL_FILE)", "请用 --to 指定，或设置 store.url（DESKPASS_STORE__URL 或 DESKPASS_STORE__URL_FILE）"),
    ("PostgreSQL without Redis is half a pair: nodes that share their data also share sign-ins under way and limits", "只配置了 PostgreSQL 而没有 Redis：共享数据的节点也要共享进行中的登录和限流"),
    ("set shared.url too, or leave out both for the embedded database of one node", "请同时设置 shared.url；单节点请两者都不设置，使用内置数据库"),
    ("Redis without PostgreSQL is half a pair: in Redis is only what may be lost, and the embedded database belongs to one node", "只配置了 Redis 而没有 PostgreSQL：Redis 中只存可丢失的数据，而内置数据库只属于一个节点"),
    ("set store.url too, or leave out both", "请同时设置 store.url，或两者都不设置"),
    ("development mode lets anyone sign in, so it must not hold a real secret", "开发模式下任何人都能登录，因此不能使用真实的 Secret"),
    ("remove the secret, or leave development mode (no --dev, development.enabled = false)", "请删除 Secret，或退出开发模式（去掉 --dev，development.enabled = false）"),
    ("development mode lets anyone who reaches {} sign in as anyone", "开发模式下，能访问 {} 的任何人都能以任意身份登录"),
    ("listen on 127.0.0.1, or accept that with --dev-allow-remote (development.allow_remote = true)", "请监听 127.0.0.1，或用 --dev-allow-remote 接受此风险（development.allow_remote = true）"),
    ("it means nothing outside development mode", "它只在开发模式下有意义"),
    ("remove it, or turn development mode on with --dev (development.enabled = true)", "请删除，或用 --dev 开启开发模式（development.enabled = true）"),
    ("{} would carry tokens and cookies unencrypted", "{} 会以明文传输令牌和 Cookie"),
    ("use https; http is only for localhost, 127.0.0.1 and [::1]", "请使用 https；http 仅用于 localhost、127.0.0.1 和 [::1]"),
    ("a certificate without its private key cannot be used", "只有证书而没有私钥，无法使用"),
    ("set server.tls.key too, or leave out both and let a proxy in front speak TLS", "请同时设置 server.tls.key；或两者都不设置，由前面的代理提供 TLS"),
    ("a private key without its certificate cannot be used", "只有私钥而没有证书，无法使用"),
    ("set server.tls.certificate too, or leave out both and let a proxy in front speak TLS", "请同时设置 server.tls.certificate；或两者都不设置，由前面的代理提供 TLS"),
    ("with server.tls.certificate the service speaks TLS, and this address does not", "设置了 server.tls.certificate 后服务使用 TLS，而该地址不是"),
    ("begin it with https://, or remove server.tls.certificate and server.tls.key", "请以 https:// 开头，或删除 server.tls.certificate 和 server.tls.key"),
    ("development mode reaches its simulated platform at the same address without TLS", "开发模式在同一地址上不经 TLS 访问模拟的平台"),
    ("remove server.tls.certificate and server.tls.key, or run `deskpass simulate` and set platform.api_url", "请删除 server.tls.certificate 和 server.tls.key，或运行 `deskpass simulate` 并设置 platform.api_url"),
    ("secrets and codes would travel unencrypted", "Secret 和授权码会以明文传输"),
    ("use https (http only for a platform simulated on this machine)", "请使用 https（http 仅用于在本机模拟的平台）"),
    ("without messages.reply_secret the back end could not know who sends the replies", "缺少 messages.reply_secret，后端无法确认回复来自何处"),
    ("set messages.reply_secret too; make one with: openssl rand -hex 32", "请同时设置 messages.reply_secret；生成方法：openssl rand -hex 32"),
    ("it signs replies, and no back end receives them", "它用于为回复签名，但没有接收回复的后端"),
    ("set messages.reply_url too, or remove it", "请同时设置 messages.reply_url，或删除此项"),
    ("what employees reply would travel unencrypted", "员工的回复会以明文传输"),
    ("without an Encrypt Key the platform signs nothing, and anyone could send events", "没有 Encrypt Key 时平台不签名，任何人都能发送事件"),
    ("set platform.events.encrypt_key too: {}", "请同时设置 platform.events.encrypt_key：{}"),
    ("events are encrypted, and the key is missing", "事件经过加密，而缺少密钥"),
    ("set platform.events.aes_key too, or remove this key", "请同时设置 platform.events.aes_key，或删除此项"),
    ("events are signed, and the token is missing", "事件带有签名，而缺少 Token"),
    ("set platform.events.token too, or remove this key", "请同时设置 platform.events.token，或删除此项"),
    ("it is not 1 to 32 letters and digits", "不是 1 到 32 位字母和数字"),
    ("enter the same token here and in the platform's console; make one with: openssl rand -hex 16", "请在此处和平台管理后台填写相同的 Token；生成方法：openssl rand -hex 16"),
    ("nobody could confirm a high-risk change", "这样没有人能确认高风险操作"),
    ("list \"otp\", \"phone\" or both", "请填写 \"otp\"、\"phone\" 或两者"),
    ("without platform.agent_id no phone can be asked, so nobody could confirm a high-risk change", "没有 platform.agent_id 就无法向手机发送确认，因此没有人能确认高风险操作"),
    ("set platform.agent_id, or list \"otp\" too", "请设置 platform.agent_id，或同时填写 \"otp\""),
    ("open lets anyone sign in as any employee", "open 允许任何人以任意员工身份登录"),
    ("list who may in bind.networks, or use bind.mode = \"proof\"", "请在 bind.networks 中列出允许的网络，或使用 bind.mode = \"proof\""),
    ("open goes by addresses, and behind a proxy that is not listed every client has the address of the proxy", "open 以地址为准，而在未列出的代理之后，所有客户端的地址都是代理的地址"),
    ("list your proxies, and only those, in trusted_proxies ([] when there are none)", "请在 trusted_proxies 中只列出您的代理（没有代理则为 []）"),
    ("{} is everyone, who could then claim any address", "{} 即所有人，任何人都能自称任意地址"),
    ("{} is everyone", "{} 即所有人"),
    ("list only the networks whose people may bind", "请只列出允许绑定的网络"),
    ("list only your proxies", "请只列出您的代理"),
    // Values.
    ("it is empty", "为空"),
    ("it is a placeholder, not a secret: paste the application's own Secret", "这是占位符，不是真正的 Secret：请粘贴应用自身的 Secret"),
    ("it is a placeholder, not a secret", "这是占位符，不是真正的密钥"),
    ("it contains other characters than letters, digits, \"_\" and \"-\"", "包含字母、数字、“_”和“-”以外的字符"),
    ("it contains other characters than letters and digits", "包含字母和数字以外的字符"),
    ("it has {} characters instead of {}", "是 {} 个字符，而不是 {} 个"),
    ("it has more than {} characters", "超过 {} 个字符"),
    ("it has more than {} secrets", "超过 {} 个密钥"),
    ("it contains a line break or another control character", "包含换行或其他控制字符"),
    ("it contains a blank, a line break or another control character", "包含空格、换行或其他控制字符"),
    ("it contains a blank", "包含空格"),
    ("it has fewer than {} characters", "少于 {} 个字符"),
    ("it is not base64", "不是 base64"),
    ("it has more than {} keys", "超过 {} 个密钥"),
    ("it has the same key twice", "同一密钥出现了两次"),
    ("it holds {} bytes instead of 32", "是 {} 字节，而不是 32 字节"),
    ("it contains a user name or password", "包含用户名或密码"),
    ("the embedded database has no address: {}", "内置数据库没有地址：请去掉 store.url 和 shared.url，由 data 指定其目录"),
    ("this is where Redis is, which shared.url says", "这是 Redis 的地址，应写在 shared.url"),
    ("this is where PostgreSQL is, which store.url says", "这是 PostgreSQL 的地址，应写在 store.url"),
    ("it begins with neither postgres:// nor postgresql://", "应以 postgres:// 或 postgresql:// 开头"),
    ("it begins with none of {}", "应以下列之一开头：{}"),
    ("its password stands behind the ?, where it would be shown; put it before the @", "密码写在了 ? 之后，会被显示出来；请写在 @ 之前"),
    ("the name of its database contains a /", "数据库名中含有 /"),
    ("it contains a #, which is %23 inside a password and stands nowhere else", "包含 #；密码中的 # 应写作 %23，其他位置不能出现"),
    ("it contains more than one @, which is %40 inside a password", "包含多个 @；密码中的 @ 应写作 %40"),
    ("a / or ? stands before its @; inside a password they are %2F and %3F", "@ 之前出现了 / 或 ?；密码中应写作 %2F 和 %3F"),
    ("a % in it is not followed by two hexadecimal digits; % itself is %25", "% 之后不是两位十六进制数；% 本身应写作 %25"),
    ("it names no host", "没有主机"),
    ("its host is not a name or an address", "主机既不是名称也不是地址"),
    ("its port is not a number from 1 to 65535", "端口不是 1 到 65535 的数字"),
    ("it has a ?, and nothing is known that could stand behind it", "含有 ?，而其后没有可用的参数"),
    ("there is no colon before its @; {}", "@ 之前没有冒号；没有用户名的密码应写作 redis://:PASSWORD@…"),
    ("it names several hosts; {}", "列出了多个主机；集群或哨兵请使用相应的前缀"),
    ("what follows the host is not the number of a database", "主机之后不是数据库编号"),
    ("something follows the hosts, and a cluster has no numbered databases", "主机之后还有内容，而集群没有编号的数据库"),
    ("it does not name the master that the sentinels watch; {}", "没有写明哨兵监视的主节点名称，应写在主机之后"),
    ("what follows the master's name is not the number of a database", "主节点名称之后不是数据库编号"),
    ("{} is not a time zone; near it are {}", "{} 不是时区；相近的有 {}"),
    ("{} is not a path", "{} 不是路径"),
    ("{} is not a colour", "{} 不是颜色"),
    ("{} is too light: its contrast with white is {}, and text needs {}. {} would do", "{} 颜色过浅：与白色的对比度为 {}，而文字需要 {}。可以使用 {}"),
    ("{} is not such a name", "{} 不是这样的名称"),
    ("{} is out of range", "{} 超出范围"),
    ("{} is not an id", "{} 不是合法的标识"),
    ("{} is not an AgentId", "{} 不是 AgentId"),
    ("{} is not a host name", "{} 不是主机名"),
    ("{} is not a domain", "{} 不是域名"),
    ("{} is not such an address", "{} 不是这样的地址"),
    ("{} is not such an origin", "{} 不是这样的地址"),
    ("{} has no kind of its own: use {} with platform.api_url = Lark's API address", "{} 不是单独的选项：请使用 {}，并将 platform.api_url 设为 Lark 的 API 地址"),
    ("{} is not one of the choices", "{} 不在可选值之内"),
    ("{} is not an IP address with a port", "{} 不是带端口的 IP 地址"),
    ("{} is not a rate", "{} 不是速率"),
    ("{} is not a size", "{} 不是大小"),
    ("{} is not a duration", "{} 不是时长"),
    ("{} is not a whole number", "{} 不是整数"),
    ("{} is neither true nor false", "{} 既不是 true 也不是 false"),
    ("{} does not fit here", "此处不能是{}"),
    ("a string", "字符串"),
    ("a whole number", "整数"),
    ("a boolean", "布尔值"),
    ("a list", "列表"),
    ("a number with a fraction", "小数"),
    ("a date or time", "日期或时间"),
    ("a section", "小节"),
    ("so large a number", "这么大的数"),
    ("{} is ambiguous, it could mean {} or {}", "{} 有歧义，可能是 {} 或 {}"),
    ("{} is not a network", "{} 不是网络"),
    // What is expected.
    ("expected {}", "应为{}"),
    ("true or false", " true 或 false"),
    ("one of {}", "下列之一：{}"),
    ("one or both of {}", "下列之一或两者：{}"),
    ("the 43 letters and digits that the platform's console generates", "平台管理后台生成的 43 位字母和数字"),
    ("an id of the platform such as {}", "平台的标识，例如 {}"),
    ("an IP address and port such as {}", "IP 地址和端口，例如 {}"),
    ("a path such as {}", "路径，例如 {}"),
    ("a colour such as {}", "颜色，例如 {}"),
    ("a name of at most {} characters such as {}", "最多 {} 个字符的名称，例如 {}"),
    ("a duration from {} to {} such as {}, or \"0\" for off", "时长，{} 到 {}，例如 {}；\"0\" 表示关闭"),
    ("a duration from {} to {} such as {}", "时长，{} 到 {}，例如 {}"),
    ("{} (a list in the file, separated by commas in the environment)", "{}（文件中为列表，环境变量中以逗号分隔）"),
    ("networks such as {}", "网络，例如 {}"),
    ("a whole number from {} to {}", "整数，{} 到 {}"),
    ("a rate such as {}", "速率，例如 {}"),
    ("at least {} characters on one line without blanks; make them with: openssl rand -hex 32", "至少 {} 个字符，单行且不含空格；生成方法：openssl rand -hex 32"),
    ("a string on one line without blanks", "单行且不含空格的字符串"),
    ("32 random bytes in base64; make them with: openssl rand -base64 32", " base64 编码的 32 个随机字节；生成方法：openssl rand -base64 32"),
    ("a size from {} to {} such as {}", "大小，{} 到 {}，例如 {}"),
    ("an IANA time zone such as {}", " IANA 时区，例如 {}"),
    ("1 to 64 letters, digits, \"_\" or \"-\", such as {}", " 1 到 64 个字母、数字、“_”或“-”，例如 {}"),
    ("the application's AgentId, a number such as {}", "应用的 AgentId，是数字，例如 {}"),
    ("32 to 256 letters, digits, \"_\" or \"-\"; make them with: openssl rand -hex 32", " 32 到 256 个字母、数字、“_”或“-”；生成方法：openssl rand -hex 32"),
    ("a domain such as {}", "域名，例如 {}"),
    ("a list of addresses such as {}", "地址列表，例如 {}"),
    ("a list of the platform's ids such as {}", "平台标识列表，例如 {}"),
    ("a list of {}", "由下列值组成的列表：{}"),
    ("a table of roles and groups such as {}", "角色与组的对应表，例如 {}"),
    ("an origin without path such as {}", "不带路径的地址，例如 {}"),
    ("origins such as {}", "地址，例如 {}"),
    ("a host name without a port such as {}", "不带端口的主机名，例如 {}"),
    ("host names without a port such as {}", "不带端口的主机名，例如 {}"),
    ("an http or https address such as {}", " http 或 https 地址，例如 {}"),
    ("an address such as {}", "地址，例如 {}"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::KEYS;
    use crate::config::oidc_clients::client_key::CLIENT_KEYS;
    use crate::config::role_rules::RULE_KEYS;

    #[test]
    fn a_phrase_is_found_with_what_stands_in_its_holes() {
        assert_eq!(in_chinese("the nearest known key is session.lifetime"), "最接近的配置项是 session.lifetime");
        assert_eq!(in_chinese("expected one of \"en\", \"zh\""), "应为下列之一：\"en\", \"zh\"");
        assert_eq!(
            in_chinese("set it in the settings file or as A or A_FILE; expected a string on one line without blanks"),
            "请在配置文件中设置，或设置环境变量 A 或 A_FILE；应为单行且不含空格的字符串"
        );
        assert_eq!(in_chinese("\"x\" is not a duration"), "\"x\" 不是时长");
        assert_eq!(in_chinese("Permission denied (os error 13)"), "Permission denied (os error 13)");
    }

    #[test]
    fn what_every_key_of_a_client_and_of_a_rule_expects_is_known_in_chinese() {
        let clients = CLIENT_KEYS.iter().map(|key| (key.name, key.expected));
        for (name, expected) in clients.chain(RULE_KEYS.iter().map(|key| (key.name, key.expected))) {
            assert_ne!(in_chinese(expected), expected, "{name}");
        }
    }

    #[test]
    fn what_every_key_expects_is_known_in_chinese() {
        for key in KEYS.iter() {
            let english = key.expected();
            let chinese = in_chinese(&english);
            assert_ne!(english, chinese, "{}", key.name);
        }
    }
}
