"""What the scripts with SDKs share. SIMULATOR is the address of a simulated platform, SECRET the secret of its application."""

import os
from urllib.parse import parse_qsl, urlsplit

import requests

here = os.environ["SIMULATOR"]
secret = os.environ["SECRET"]
callback = "http://localhost:8080/api/auth/oauth2/callback"


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def refused(call, expected, code):
    """Makes a call that must fail, and compares what the SDK says about it."""
    try:
        answer = call()
    except Exception as error:  # each SDK has its own
        equal(code(error), expected)
        return
    raise AssertionError(f"{answer!r} was not refused")


class ToSimulator(requests.adapters.HTTPAdapter):
    """Sends to the simulator what an SDK sends to the platform, and changes nothing else."""

    def __init__(self, platform):
        super().__init__()
        self.platform = platform

    def send(self, request, *arguments, **more):
        if not request.url.startswith(self.platform):
            raise AssertionError(request.url)
        request.url = here + request.url.removeprefix(self.platform)
        return super().send(request, *arguments, **more)


def returned(link):
    """What the platform appends to the callback, after the user answered at this link."""
    answer = requests.get(link, allow_redirects=False, timeout=10)
    equal(answer.status_code, 302)
    target = urlsplit(answer.headers["location"])
    equal(f"{target.scheme}://{target.netloc}{target.path}", callback)
    return dict(parse_qsl(target.query))


def inbox():
    return requests.get(f"{here}/inbox", timeout=10).json()["messages"]


def void_tokens():
    requests.post(f"{here}/void-tokens", timeout=10).raise_for_status()
