"""django-allauth: accounts of a Django site, which sign in with its provider for OpenID Connect. DIRECTORY holds its database. Prints
its address, then serves until standard input ends."""

import os
import sys

import django
from django.conf import settings

port = int(os.environ["PORT"])
settings.configure(
    SECRET_KEY="the cookies of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["DIRECTORY"], "db")}},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    # The tables as they are now, without their history, which takes long.
    MIGRATION_MODULES={app: None for app in ("account", "auth", "contenttypes", "sessions", "socialaccount")},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
    LOGIN_REDIRECT_URL="/me",
    ACCOUNT_EMAIL_VERIFICATION="none",
    # The button is a link.
    SOCIALACCOUNT_LOGIN_ON_GET=True,
    # The sign-in, as the guide says it.
    SOCIALACCOUNT_PROVIDERS={
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "SCOPE": ["openid", "profile", "email", "groups"],
            "APPS": [
                {
                    "provider_id": "deskpass",
                    "name": "Deskpass",
                    "client_id": os.environ["CLIENT_ID"],
                    "secret": os.environ["CLIENT_SECRET"],
                    "settings": {"server_url": os.environ["ISSUER"]},
                }
            ],
        }
    },
)
# The names above are looked up in the module of this name.
sys.modules[__name__] = sys.modules["__main__"]
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django_server import serve  # noqa: E402


def me(request):
    user = request.user
    if not user.is_authenticated:
        return JsonResponse({})
    account = user.socialaccount_set.get()
    users = get_user_model().objects.count()
    return JsonResponse({"users": users, "email": user.email, "uid": account.uid, "told": account.extra_data})


urlpatterns = [path("accounts/", include("allauth.urls")), path("me", me)]

serve(port)
