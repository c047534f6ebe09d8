// express-openid-connect: pages that want a sign-in, and close when the service says that the session has ended. Prints its
// address, then serves until standard input ends.
import { createRequire } from "node:module";
import { join } from "node:path";

const { PACKAGES, ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
const require = createRequire(join(PACKAGES, "node_modules", "-"));
const express = require("express");
const { auth, requiresAuth } = require("express-openid-connect");

const here = `http://127.0.0.1:${PORT}`;
const ended = new Set();
const app = express();
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: here,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    secret: "the cookies of a test, which are long enough",
    authRequired: false,
    idpLogout: true,
    authorizationParams: { response_type: "code", scope: "openid profile email groups" },
    routes: { postLogoutRedirect: "/bye" },
    backchannelLogout: {
      onLogin: false,
      onLogoutToken: ({ sid }) => void ended.add(sid),
      isLoggedOut: (request) => ended.has(request.oidc.idTokenClaims.sid),
    },
  }),
);
app.get("/me", requiresAuth(), (request, response) => response.json(request.oidc.user));
app.get("/bye", (request, response) => response.json({ bye: !request.oidc.isAuthenticated() }));
app.listen(Number(PORT), "127.0.0.1", () => console.log(JSON.stringify({ address: here })));
process.stdin.resume().on("end", () => process.exit(0));
