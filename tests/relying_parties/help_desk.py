"""A help desk: django-helpdesk, whose staff sign in with mozilla-django-oidc. DIRECTORY holds its database. Prints its address, then
serves until standard input ends."""

import os
import sys

import django
from django.conf import settings

issuer, port = os.environ["ISSUER"], int(os.environ["PORT"])
settings.configure(
    SECRET_KEY="the cookies of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["DIRECTORY"], "db")}},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.sites",
        "django.contrib.messages",
        "django.contrib.humanize",
        "django.contrib.staticfiles",
        "django.contrib.admin",
        "mozilla_django_oidc",
        "rest_framework",
        "helpdesk",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    AUTHENTICATION_BACKENDS=[f"{__name__}.DeskpassBackend"],
    # The tables as they are now, without their history, which takes long.
    MIGRATION_MODULES={app: None for app in ("admin", "auth", "contenttypes", "helpdesk", "sessions", "sites")},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    SITE_ID=1,
    USE_TZ=True,
    STATIC_URL="/static/",
    # The sign-in, as the guide says it.
    LOGIN_URL="/oidc/authenticate/",
    LOGIN_REDIRECT_URL="/dashboard/",
    LOGOUT_REDIRECT_URL=f"http://127.0.0.1:{port}/bye",
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_USE_PKCE=True,
    OIDC_RP_SCOPES="openid profile email groups",
    OIDC_OP_AUTHORIZATION_ENDPOINT=os.environ["AUTHORIZATION_ENDPOINT"],
    OIDC_OP_TOKEN_ENDPOINT=os.environ["TOKEN_ENDPOINT"],
    OIDC_OP_USER_ENDPOINT=os.environ["USERINFO_ENDPOINT"],
    OIDC_OP_JWKS_ENDPOINT=os.environ["JWKS_URI"],
    OIDC_STORE_ID_TOKEN=True,
    OIDC_OP_LOGOUT_URL_METHOD=f"{__name__}.sign_out_address",
    ALLOW_LOGOUT_GET_METHOD=True,
    HELPDESK_ALLOW_NON_STAFF_TICKET_UPDATE=False,
    HELPDESK_TEAMS_MODE_ENABLED=False,
)
# The names above are looked up in the module of this name.
sys.modules[__name__] = sys.modules["__main__"]
django.setup()

from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils.http import urlencode  # noqa: E402
from django_server import serve  # noqa: E402
from mozilla_django_oidc.auth import OIDCAuthenticationBackend  # noqa: E402


class DeskpassBackend(OIDCAuthenticationBackend):
    """Accounts belong to a subject, never to an e-mail address, and the groups decide who is staff."""

    def filter_users_by_claims(self, claims):
        return self.UserModel.objects.filter(username=claims["sub"])

    def get_username(self, claims):
        return claims["sub"]

    def create_user(self, claims):
        return self.update_user(super().create_user(claims), claims)

    def update_user(self, user, claims):
        user.first_name = claims["name"]
        user.is_staff = "role:agent" in claims["groups"]
        user.save()
        return user


def sign_out_address(request):
    query = {"id_token_hint": request.session["oidc_id_token"], "post_logout_redirect_uri": settings.LOGOUT_REDIRECT_URL}
    return f"{os.environ['END_SESSION_ENDPOINT']}?{urlencode(query)}"


def me(request):
    user = request.user
    if not user.is_authenticated:
        return JsonResponse({})
    return JsonResponse({"username": user.username, "name": user.first_name, "email": user.email, "staff": user.is_staff})


urlpatterns = [
    path("oidc/", include("mozilla_django_oidc.urls")),
    path("me", me),
    path("bye", lambda _: JsonResponse({"bye": True})),
    path("", include("helpdesk.urls", namespace="helpdesk")),
]

serve(port)
