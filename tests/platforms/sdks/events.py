"""Opens with the SDKs' own code what Deskpass sealed, and seals the same texts for it. Reads JSON, and writes it after "done"."""

import base64
import hashlib
import json
import re
import sys

import lark_oapi as lark
from Crypto.Cipher import AES
from Crypto.Util.Padding import pad
from dingtalk.crypto import DingTalkCrypto
from lark_oapi.core.model import RawRequest
from lark_oapi.core.utils import AESCipher
from wechatpy.enterprise.crypto import WeChatCrypto


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def refused(call):
    try:
        answer = call()
    except Exception:  # each SDK has its own
        return
    raise AssertionError(f"{answer!r} was not refused")


def wecom(given):
    crypto = WeChatCrypto(given["token"], given["key"], given["receiver"])
    timestamp, nonce = given["timestamp"], given["nonce"]
    made = []
    for text, sealed in zip(given["texts"], given["sealed"]):
        message = {"Encrypt": sealed["encrypted"]}
        equal(crypto.decrypt_message(message, sealed["signature"], timestamp, nonce), text)
        # The check of an address is opened in the same way.
        equal(crypto.check_signature(sealed["signature"], timestamp, nonce, sealed["encrypted"]), text)
        refused(lambda: crypto.decrypt_message(message, sealed["signature"], timestamp, nonce + "1"))
        xml = crypto.encrypt_message(text, nonce, timestamp)
        signature, encrypted = (re.search(rf"<{name}><!\[CDATA\[(.*?)\]\]>", xml)[1] for name in ("MsgSignature", "Encrypt"))
        made.append({"signature": signature, "encrypted": encrypted})
    other = WeChatCrypto(given["token"], given["key"], given["receiver"] + "1")
    refused(lambda: other.decrypt_message(message, sealed["signature"], timestamp, nonce))
    return made


def dingtalk(given):
    crypto = DingTalkCrypto(given["token"], given["key"], given["receiver"])
    timestamp, nonce = given["timestamp"], given["nonce"]
    made = []
    for text, sealed in zip(given["texts"], given["sealed"]):
        message = {"encrypt": sealed["encrypted"]}
        equal(crypto.decrypt_message(message, sealed["signature"], timestamp, nonce), text)
        refused(lambda: crypto.decrypt_message(message, sealed["signature"], timestamp + "1", nonce))
        reply = crypto.encrypt_message(text, nonce, timestamp)
        equal((reply["timeStamp"], reply["nonce"]), (timestamp, nonce))
        made.append({"signature": reply["msg_signature"], "encrypted": reply["encrypt"]})
    return made


def feishu(given):
    """The SDK for Feishu can only open, and does so with a whole request. What seals here is another library."""
    left = []
    handler = (
        lark.EventDispatcherHandler.builder(given["key"], given["token"], lark.LogLevel.CRITICAL)
        .register_p2_contact_user_deleted_v3(lambda event: left.append(event.event.object.user_id))
        .build()
    )

    def deliver(body, signature):
        request = RawRequest()
        request.uri, request.body = "/", body.encode()
        request.headers = {
            "X-Lark-Request-Timestamp": given["timestamp"],
            "X-Lark-Request-Nonce": given["nonce"],
            "X-Lark-Signature": signature,
        }
        return handler.do(request)

    made = []
    for text, sealed in zip(given["texts"], given["sealed"]):
        encrypted = json.loads(sealed["body"])["encrypt"]
        equal(AESCipher(given["key"]).decrypt_str(encrypted), text)
        equal(deliver(sealed["body"], sealed["signature"]).status_code, 200)
        equal(left.pop(), json.loads(text)["event"]["object"]["user_id"])
        equal((deliver(sealed["body"] + " ", sealed["signature"]).status_code, left), (500, []))
        iv = hashlib.md5(text.encode()).digest()
        cipher = AES.new(hashlib.sha256(given["key"].encode()).digest(), AES.MODE_CBC, iv)
        body = json.dumps({"encrypt": base64.b64encode(iv + cipher.encrypt(pad(text.encode(), 16))).decode()})
        signed = given["timestamp"] + given["nonce"] + given["key"] + body
        made.append({"signature": hashlib.sha256(signed.encode()).hexdigest(), "body": body})
        equal(deliver(body, made[-1]["signature"]).status_code, 200)
        left.clear()
    return made


given = json.load(sys.stdin)
made = {"wecom": wecom(given["wecom"]), "dingtalk": dingtalk(given["dingtalk"]), "feishu": feishu(given["feishu"])}
print("done", json.dumps(made))
