"""Uses the simulated WeCom through wechatpy: token, code, members, departments, the application, messages."""

from common import ToSimulator, callback, equal, here, inbox, refused, returned, secret, void_tokens
from wechatpy.enterprise import WeChatClient


def client(its_secret=secret):
    made = WeChatClient("wwdeskpass", its_secret)
    made._http.mount("https://", ToSimulator("https://qyapi.weixin.qq.com"))
    return made


def code_for(who):
    link = wecom.oauth.authorize_url(callback, "auth_login")
    link = link.replace("https://open.weixin.qq.com", here).replace("#", f"&sim_user={who}#")
    answer = returned(link)
    equal(answer["state"], "auth_login")
    return answer["code"]


def errcode(error):
    return error.errcode


wecom = client()
equal(wecom.fetch_access_token()["expires_in"], 7200)
refused(client("wrong").fetch_access_token, 40001, errcode)

# The code, in the old spelling that this SDK uses, once.
code = code_for("user01")
equal(wecom.oauth.get_user_info(code)["UserId"], "user01")
refused(lambda: wecom.oauth.get_user_info(code), 40029, errcode)
equal("UserId" in wecom.user.get_info(1000002, code_for("outsider01")), False)

user = wecom.user.get("user01")
equal((user["name"], user["department"], user["status"]), ("Uma User", [4], 1))
refused(lambda: wecom.user.get("nobody"), 60111, errcode)
refused(lambda: wecom.user.get("hidden01"), 60011, errcode)
equal(wecom.user.convert_to_openid("user01")["openid"].startswith("o"), True)

departments = {department["id"]: department["name"] for department in wecom.department.get()}
equal((departments[1], departments[4]), ("Deskpass", "Sales"))
equal([department["id"] for department in wecom.department.get(2)], [2, 3])
equal({user["userid"] for user in wecom.user.list(4)}, {"user01", "left01"})
everyone = wecom.department.get_users(1, fetch_child=1)
equal({"admin01", "agent01", "user01"} <= {user["userid"] for user in everyone}, True)
names = wecom.department.get_map_users(3)
equal((names["Arno Agent"], names["Sven Supervisor"]), ("agent01", "supervisor01"))

tags = {tag["tagname"]: tag["tagid"] for tag in wecom.tag.list()}
on_call = wecom.tag.get_users(tags["On Call"])
equal(({user["userid"] for user in on_call["userlist"]}, on_call["partylist"]), ({"agent01", "security01"}, []))
equal(wecom.tag.get_users(tags["Service Desk"])["partylist"], [3])
refused(lambda: wecom.tag.get_users(999), 40068, errcode)

equal(wecom.agent.get(1000002)["name"], "Deskpass")
equal(len(wecom.misc.get_wechat_ips()) > 0, True)

# This SDK passes on what it is given, also a number in a text.
for agent in (1000002, "1000002"):
    sent = wecom.message.send_text(agent, ["user01", "nobody"], f"hello from {agent!r}")
    equal((sent["errcode"], sent["invaliduser"]), (0, "nobody"))
refused(lambda: wecom.message.send_text(7, ["user01"], "hello"), 301002, errcode)
equal([message["touser"] for message in inbox()], [["user01"], ["user01"]])

# It renews a token that the platform has revoked, and understands the refusal of calls that are not simulated.
void_tokens()
equal(wecom.user.get("agent01")["name"], "Arno Agent")
refused(lambda: wecom.user.delete("agent01"), 48002, errcode)
print("done")
