"""Uses the simulated Feishu through the platform's own SDK: tokens, code with PKCE, members, departments, messages."""

import base64
import hashlib
import json
from urllib.parse import urlencode

import lark_oapi as lark
from common import callback, equal, here, inbox, refused, returned, secret, void_tokens
from lark_oapi.api.auth.v3 import InternalTenantAccessTokenRequest, InternalTenantAccessTokenRequestBody
from lark_oapi.api.authen.v1 import (
    CreateOidcAccessTokenRequest,
    CreateOidcAccessTokenRequestBody,
    GetUserInfoRequest,
)
from lark_oapi.api.contact.v3 import (
    ChildrenDepartmentRequest,
    FindByDepartmentUserRequest,
    GetDepartmentRequest,
    GetUserRequest,
    ListScopeRequest,
    SimplelistGroupMemberRequest,
    SimplelistGroupRequest,
)
from lark_oapi.api.im.v1 import (
    CreateMessageRequest,
    CreateMessageRequestBody,
    PatchMessageRequest,
    PatchMessageRequestBody,
)
from lark_oapi.core.token import TokenManager

app_id = "cli_deskpass"


def client(its_secret=secret):
    made = lark.Client.builder().app_id(app_id).app_secret(its_secret).domain(here)
    # Without the last setting it refuses tokens of users.
    return made.oauth_base_url(here).log_level(lark.LogLevel.ERROR).enable_set_token(True).build()


def code_for(who, **more):
    query = {"client_id": app_id, "response_type": "code", "redirect_uri": callback, "state": "auth_login", "sim_user": who}
    answer = returned(f"{here}/open-apis/authen/v1/authorize?{urlencode({**query, **more})}")
    equal(answer["state"], "auth_login")
    return answer["code"]


def exchange(code, **more):
    return feishu.access_token.retrieve_by_authorization_code(code, redirect_uri=callback, **more)


def done(answer):
    if not answer.success():
        raise AssertionError((answer.code, answer.msg))
    return answer.data


def number(error):
    return error.code


feishu = client()


def tenant_token(its_secret):
    body = InternalTenantAccessTokenRequestBody.builder().app_id(app_id).app_secret(its_secret).build()
    return feishu.auth.v3.tenant_access_token.internal(InternalTenantAccessTokenRequest.builder().request_body(body).build())


# The token of the application. A wrong secret is a refusal with the status of a success.
answer = tenant_token(secret)
token = json.loads(answer.raw.content)
equal((answer.code, token["tenant_access_token"].startswith("t-"), token["expire"] <= 7200), (0, True, True))
answer = tenant_token("wrong")
equal((answer.success(), answer.raw.status_code, answer.code in (10014, 10015)), (False, 200, True))

# The code, once, at the newest address; with PKCE it is bound to the verifier.
code = code_for("user01")
issued = exchange(code)
equal((issued.token_type, issued.refresh_token), ("Bearer", None))
refused(lambda: exchange(code), 20065, number)
refused(lambda: exchange("made-up"), 20003, number)
verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}
refused(lambda: exchange(code_for("user01", **pkce)), 20049, number)
refused(lambda: exchange(code_for("user01", **pkce), code_verifier=verifier[::-1]), 20049, number)
exchange(code_for("user01", **pkce), code_verifier=verifier)
equal(returned(f"{here}/open-apis/authen/v1/authorize?" + urlencode(
    {"client_id": app_id, "response_type": "code", "redirect_uri": callback, "state": "s", "sim_user": "deny"}
)), {"error": "access_denied", "state": "s"})


def profile(user_token):
    option = lark.RequestOption.builder().user_access_token(user_token).build()
    return feishu.authen.v1.user_info.get(GetUserInfoRequest.builder().build(), option)


me = done(profile(issued.access_token))
equal((me.name, me.user_id, me.tenant_key, me.open_id.startswith("ou_")), ("Uma User", "user01", "tenantdeskpass", True))
equal(profile("u-made-up").code, 99991668)
stranger = done(profile(exchange(code_for("wwpartner/partner01")).access_token))
equal(stranger.tenant_key != "tenantdeskpass", True)

# The older address, which this SDK also has, nests its answer.
body = CreateOidcAccessTokenRequestBody.builder().grant_type("authorization_code").code(code_for("agent01")).build()
older = done(feishu.authen.v1.oidc_access_token.create(CreateOidcAccessTokenRequest.builder().request_body(body).build()))
equal(done(profile(older.access_token)).user_id, "agent01")


def user(id, kind="user_id"):
    return feishu.contact.v3.user.get(GetUserRequest.builder().user_id(id).user_id_type(kind).build())


record = done(user("user01")).user
equal((record.name, record.status.is_activated, record.status.is_resigned), ("Uma User", True, False))
equal(done(user(me.open_id, "open_id")).user.user_id, "user01")
equal(done(user("left01")).user.status.is_resigned, True)
equal((user("hidden01").code, user("nobody").success()), (41050, False))

department = done(feishu.contact.v3.department.get(GetDepartmentRequest.builder().department_id(record.department_ids[0]).build()))
equal(department.department.name, "Sales")
children = done(feishu.contact.v3.department.children(ChildrenDepartmentRequest.builder().department_id("0").page_size(2).build()))
equal((len(children.items), children.has_more), (2, True))
rest = ChildrenDepartmentRequest.builder().department_id("0").page_size(50).page_token(children.page_token).build()
names = {item.name for item in children.items + done(feishu.contact.v3.department.children(rest)).items}
equal(names, {"IT", "Sales", "Security", "Finance"})
ask = FindByDepartmentUserRequest.builder().department_id(record.department_ids[0]).user_id_type("user_id").build()
equal([member.user_id for member in done(feishu.contact.v3.user.find_by_department(ask)).items], ["user01"])
groups = done(feishu.contact.v3.group.simplelist(SimplelistGroupRequest.builder().page_size(100).build())).grouplist
groups = {group.name: group.id for group in groups}


def members(group, kind, id_type):
    ask = SimplelistGroupMemberRequest.builder().group_id(groups[group]).member_type(kind).member_id_type(id_type).build()
    return {member.member_id for member in done(feishu.contact.v3.group_member.simplelist(ask)).memberlist or []}


equal(members("On Call", "user", "user_id"), {"agent01", "security01"})
equal((len(members("Service Desk", "department", "open_id")), members("Service Desk", "user", "user_id")), (1, set()))
equal(done(feishu.contact.v3.scope.list(ListScopeRequest.builder().build())).has_more, False)


def send(to, kind, content, uuid=None):
    body = CreateMessageRequestBody.builder().receive_id(to).msg_type(kind).content(json.dumps(content))
    body = (body.uuid(uuid) if uuid else body).build()
    return feishu.im.v1.message.create(CreateMessageRequest.builder().receive_id_type("user_id").request_body(body).build())


# The same uuid counts once; a card that all readers share can be changed.
first = done(send("user01", "text", {"text": "hello"}, "one"))
equal(done(send("user01", "text", {"text": "hello"}, "one")).message_id, first.message_id)
equal(send("left01", "text", {"text": "hello"}).code, 230013)
card = {"config": {"update_multi": True}, "elements": [{"tag": "div", "text": {"tag": "plain_text", "content": "?"}}]}
sent = done(send("user01", "interactive", card))
change = PatchMessageRequestBody.builder().content(json.dumps(card)).build()
change = PatchMessageRequest.builder().message_id(sent.message_id).request_body(change).build()
equal(feishu.im.v1.message.patch(change).code, 0)
equal([message["touser"] for message in inbox()], [["user01"], ["user01"]])

# A token that the platform has revoked; this SDK keeps its own until it ends, so the test drops it.
void_tokens()
equal(user("user01").code, 99991663)
TokenManager.cache.set(f"self_tenant_token:{app_id}", "", 0)
equal(done(user("user01")).user.name, "Uma User")
print("done")
