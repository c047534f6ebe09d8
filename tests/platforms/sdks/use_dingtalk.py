"""Uses the simulated DingTalk through the platform's own SDK for the newer API, and through dingtalk-sdk for the older one."""

from urllib.parse import urlencode, urlsplit

import requests
from alibabacloud_dingtalk.contact_1_0.client import Client as Contacts
from alibabacloud_dingtalk.contact_1_0.models import GetUserHeaders
from alibabacloud_dingtalk.oauth2_1_0 import models
from alibabacloud_dingtalk.oauth2_1_0.client import Client as OAuth
from alibabacloud_tea_openapi.models import Config
from alibabacloud_tea_util.models import RuntimeOptions
from common import ToSimulator, callback, equal, here, inbox, refused, returned, secret, void_tokens
from dingtalk import AppKeyClient
from dingtalk.model.message import TextBody

corp_id, client_id, agent_id = "dingdeskpass", "dingclientdeskpass", 1000002
config = Config(protocol="http", endpoint=urlsplit(here).netloc)
oauth, contacts = OAuth(config), Contacts(config)


def code_for(who):
    query = {"client_id": client_id, "redirect_uri": callback, "response_type": "code", "scope": "openid corpid"}
    query.update(prompt="consent", state="auth_login", sim_user=who)
    answer = returned(f"{here}/oauth2/auth?{urlencode(query)}")
    equal((answer["state"], answer["code"]), ("auth_login", answer["authCode"]))
    return answer["authCode"]


def user_token(code, its_secret=secret):
    ask = models.GetUserTokenRequest(client_id, its_secret, code, "authorization_code")
    return oauth.get_user_token(ask).body


def word(error):
    return error.code


def errcode(error):
    return error.errcode


# The tokens of the application, by both calls of the newer API: they are the same.
ask = models.GetTokenRequest(client_id, secret, "client_credentials")
token = oauth.get_token(corp_id, ask).body
equal(token.expires_in, 7200)
equal(oauth.get_access_token(models.GetAccessTokenRequest(client_id, secret)).body.access_token, token.access_token)
wrong = models.GetTokenRequest(client_id, "wrong", "client_credentials")
refused(lambda: oauth.get_token(corp_id, wrong), "invalid.client", word)
refused(lambda: oauth.get_access_token(models.GetAccessTokenRequest(client_id, "wrong")), "invalidClientIdOrSecret", word)

# The code of the login page, once: the user's token, and who that is.
code = code_for("user01")
issued = user_token(code)
equal((issued.corp_id, issued.expire_in), (corp_id, 7200))
refused(lambda: user_token(code), "invalidParameter.authCode.notFound", word)
refused(lambda: user_token(code_for("user01"), "wrong"), "invalidClientIdOrSecret", word)
me = contacts.get_user_with_options("me", GetUserHeaders(x_acs_dingtalk_access_token=issued.access_token), RuntimeOptions()).body
equal(bool(me.union_id) and me.nick != "Uma User", True)
bad = GetUserHeaders(x_acs_dingtalk_access_token="made-up")
refused(lambda: contacts.get_user_with_options("me", bad, RuntimeOptions()), "InvalidAuthentication", word)
equal(user_token(code_for("wwpartner/partner01")).corp_id != corp_id, True)

# The older API. This SDK gets its own token there, which is the same again.
AppKeyClient._http.mount("https://", ToSimulator("https://oapi.dingtalk.com"))
dingtalk = AppKeyClient(corp_id, client_id, secret)
equal(dingtalk.access_token, token.access_token)
refused(lambda: AppKeyClient(corp_id, "another", "wrong").access_token, 40096, errcode)


def ask_older(method, **parameters):
    return dingtalk.post(f"/topapi/{method}", parameters)


found = ask_older("user/getbyunionid", unionid=me.union_id)["result"]
equal((found["userid"], found["contact_type"]), ("user01", 0))
refused(lambda: ask_older("user/getbyunionid", unionid="made-up"), 60121, errcode)
user = ask_older("v2/user/get", userid="user01", language="zh_CN")["result"]
equal((user["name"], user["dept_id_list"], user["active"]), ("Uma User", [4], True))
refused(lambda: ask_older("v2/user/get", userid="nobody"), 60121, errcode)
departments = ask_older("v2/department/listsub", dept_id=1)["result"]
equal({"IT", "Sales"} <= {department["name"] for department in departments}, True)
equal(ask_older("v2/department/get", dept_id=4)["result"]["name"], "Sales")
members = ask_older("v2/user/list", dept_id=4, cursor=0, size=10)["result"]
equal(([member["userid"] for member in members["list"]], members["has_more"]), (["user01"], False))

groups = ask_older("role/list", size=20, offset=0)["result"]
roles = {role["name"]: role["id"] for group in groups["list"] for role in group["roles"]}
on_call = ask_older("role/simplelist", role_id=roles["On Call"], size=20, offset=0)["result"]
equal(({member["userid"] for member in on_call["list"]}, on_call["hasMore"]), ({"agent01", "security01"}, False))

# The code of the script, once, and not in place of the other kind.
parameters = {"corpId": corp_id, "clientId": client_id, "sim_user": "agent01"}
code = requests.get(f"{here}/request-auth-code", parameters, timeout=10).json()["code"]
refused(lambda: user_token(code), "invalidParameter.authCode.notFound", word)
equal(ask_older("v2/user/getuserinfo", code=code)["result"]["userid"], "agent01")
refused(lambda: ask_older("v2/user/getuserinfo", code=code), 40078, errcode)
refused(lambda: ask_older("v2/user/getuserinfo", code=code_for("user01")), 40078, errcode)

# A message in the form that this SDK gives it; the same text reaches the same member once a day.
message = TextBody("hello").get_dict()
path = "message/corpconversation/asyncsend_v2"
for number in (agent_id, str(agent_id)):
    sent = ask_older(path, agent_id=number, userid_list="user01,nobody", to_all_user=False, msg=message)
    result = ask_older("message/corpconversation/getsendresult", agent_id=agent_id, task_id=sent["task_id"])
    equal(result["send_result"]["invalid_user_id_list"], ["nobody"])
equal([entry["code"] for entry in result["send_result"]["forbidden_list"]], [143106])
equal([message["touser"] for message in inbox()], [["user01"]])
refused(lambda: ask_older(path, agent_id=7, userid_list="user01", msg=message), 40056, errcode)

# A token that the platform has revoked, in the shape of this API; and a path that does not exist.
refused(lambda: ask_older("no/such/method"), 22, errcode)
void_tokens()
refused(lambda: ask_older("v2/user/get", userid="user01"), 88, errcode)
dingtalk.cache.access_token.delete()
equal(ask_older("v2/user/get", userid="user01")["result"]["name"], "Uma User")
print("done")
