"""Uses the client that was generated from the API description, as a program of another team would: signs in, is refused, introspects.

DESK is the address of the service, KEY a service key with the scope introspect, OTHER_KEY one without it.
"""

import importlib
import os
import pkgutil

import deskpass_client
from deskpass_client import AuthenticatedClient, Client
from deskpass_client.api.development import post_dev_login
from deskpass_client.api.sessions import get_auth_me, post_auth_introspect, post_auth_logout
from deskpass_client.models import Failure, PostAuthIntrospectBody, PostDevLoginBody

desk = os.environ["DESK"]


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def refused(answer, code):
    """The details of a failure, which is parsed whatever it contains."""
    equal(type(answer), Failure)
    equal(answer.code, code)
    if not (answer.message and answer.request_id):
        raise AssertionError(answer)
    return answer.data


def signed_in(token):
    return AuthenticatedClient(base_url=desk, token=token)


def introspect(client, token):
    return post_auth_introspect.sync(client=client, body=PostAuthIntrospectBody(token=token))


# Every operation and every model can be imported, not only those that are used here.
modules = [module.name for module in pkgutil.walk_packages(deskpass_client.__path__, "deskpass_client.")]
for module in modules:
    importlib.import_module(module)
print(sum(".api." in module and module.count(".") == 3 for module in modules), "operations")

anyone = Client(base_url=desk)
fields = refused(post_dev_login.sync(client=anyone, body=PostDevLoginBody(employee_id="?")), 1002).fields
equal(list(fields.additional_properties), ["employee_id"])
equal(refused(post_dev_login.sync(client=anyone, body=PostDevLoginBody(employee_id="norole01")), 1003).reason, "no_role")

session = post_dev_login.sync(client=anyone, body=PostDevLoginBody(employee_id="agent01")).data
equal((session.employee_id, session.current_role), ("agent01", "agent"))
user = get_auth_me.sync(client=signed_in(session.token)).data
equal((user.employee_id, user.corp_id, user.roles), ("agent01", "wwdeskpass", ["agent", "user"]))

service = signed_in(os.environ["KEY"])
described = introspect(service, session.token).data
equal((described.active, len(described.sub), described.current_role), (True, 22, "agent"))
equal(refused(introspect(signed_in(os.environ["OTHER_KEY"]), session.token), 1003).reason, "scope_needed")
equal(refused(introspect(signed_in(session.token), session.token), 1001).reason, "malformed")

equal(post_auth_logout.sync(client=signed_in(session.token)).data.success, True)
equal(introspect(service, session.token).data.active, False)
equal(refused(get_auth_me.sync(client=signed_in(session.token)), 1001).reason, "signed_out")
