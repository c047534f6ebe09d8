"""Streamlit: an app that wants a sign-in with st.login. Run as a script it writes its settings to DIRECTORY and starts itself in
Streamlit's server."""

import os
import sys

if "STREAMLIT_SERVER_PORT" not in os.environ:
    env = os.environ
    os.makedirs(f"{env['DIRECTORY']}/.streamlit")
    with open(f"{env['DIRECTORY']}/.streamlit/secrets.toml", "w", encoding="utf-8") as secrets:
        secrets.write(f"""[auth]
redirect_uri = "{env["REDIRECT_URI"]}"
cookie_secret = "the cookies of a test, which are long enough"
client_id = "{env["CLIENT_ID"]}"
client_secret = "{env["CLIENT_SECRET"]}"
server_metadata_url = "{env["ISSUER"]}/.well-known/openid-configuration"
client_kwargs = {{ scope = "openid profile email groups" }}
""")
    app = os.path.abspath(__file__)
    os.chdir(env["DIRECTORY"])
    env.update(
        STREAMLIT_SERVER_PORT=env["PORT"],
        STREAMLIT_SERVER_ADDRESS="127.0.0.1",
        STREAMLIT_SERVER_HEADLESS="true",
        STREAMLIT_SERVER_FILE_WATCHER_TYPE="none",
        STREAMLIT_BROWSER_GATHER_USAGE_STATS="false",
    )
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", app])

import streamlit as st  # noqa: E402

if st.user.is_logged_in:
    st.text(f"{st.user.name} {st.user.email} {' '.join(st.user.groups)}")
    st.button("Sign out", on_click=st.logout)
else:
    st.button("Sign in", on_click=st.login)
