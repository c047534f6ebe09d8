"""authlib: signs in with a client that posts its secret, checks the ID token with the published keys, refreshes, and prepares the
sign-out. Writes an address for the browser to open, reads the address that the browser was sent back to, and writes what it got:
each a line of JSON."""

import json
import os
import sys
from urllib.parse import urlencode

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

# authlib, and oauthlib beside it, would refuse plain HTTP, which tests use on the loopback address.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
env = os.environ


def say(value):
    print(json.dumps(value), flush=True)


def hear():
    return json.loads(sys.stdin.readline())


provider = requests.get(f"{env['ISSUER']}/.well-known/openid-configuration", timeout=10).json()
assert provider["issuer"] == env["ISSUER"], provider
keys = KeySet.import_key_set(requests.get(provider["jwks_uri"], timeout=10).json())


def checked(id_token, nonce=None):
    """The claims of an ID token, if authlib has nothing against them."""
    token = jwt.decode(id_token, keys, algorithms=["RS256", "ES256"])
    options = {"iss": {"value": provider["issuer"]}, "aud": {"value": env["CLIENT_ID"]}}
    claims = CodeIDToken(token.claims, token.header, options, {"nonce": nonce, "client_id": env["CLIENT_ID"]})
    claims.validate(leeway=60)
    return token.header, dict(token.claims)


session = OAuth2Session(
    env["CLIENT_ID"],
    env["CLIENT_SECRET"],
    scope="openid profile email groups offline_access",
    redirect_uri=env["REDIRECT_URI"],
    token_endpoint_auth_method="client_secret_post",
    code_challenge_method="S256",
    token_endpoint=provider["token_endpoint"],
)
verifier, nonce = generate_token(48), generate_token(24)
link, state = session.create_authorization_url(
    provider["authorization_endpoint"], code_verifier=verifier, nonce=nonce, prompt="consent"
)
assert create_s256_code_challenge(verifier) in link
say({"open": link})

returned = hear()["at"]
token = session.fetch_token(provider["token_endpoint"], authorization_response=returned, state=state, code_verifier=verifier)
header, claims = checked(token["id_token"], nonce)
userinfo = session.get(provider["userinfo_endpoint"], timeout=10).json()
renewed = session.refresh_token(provider["token_endpoint"], refresh_token=token["refresh_token"])
_, refreshed = checked(renewed["id_token"])
query = {"id_token_hint": renewed["id_token"], "post_logout_redirect_uri": env["POST_LOGOUT_URI"], "state": state}
say(
    {
        "header": header,
        "claims": claims,
        "userinfo": userinfo,
        "refreshed": refreshed,
        "rotated": renewed["refresh_token"] != token["refresh_token"],
        "state": state,
        "end": f"{provider['end_session_endpoint']}?{urlencode(query)}",
    }
)

hear()
after = requests.get(
    provider["userinfo_endpoint"], headers={"authorization": f"Bearer {renewed['access_token']}"}, timeout=10
)
say({"userinfo": after.status_code})
