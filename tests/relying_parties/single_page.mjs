// oidc-client-ts in a page without a server of its own. Prints its address, then serves until standard input ends.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const { PACKAGES, ISSUER, CLIENT_ID, PORT } = process.env;
const library = readFileSync(join(PACKAGES, "node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js"));
const page = `<!doctype html>
<title>oidc-client-ts</title>
<link rel="icon" href="data:,">
<p id="state"></p>
<button id="in">Sign in</button>
<button id="refresh">Refresh</button>
<button id="out">Sign out</button>
<script src="/library.js"></script>
<script>
  const manager = new oidc.UserManager({
    authority: ${JSON.stringify(ISSUER)},
    client_id: ${JSON.stringify(CLIENT_ID)},
    redirect_uri: location.origin + "/callback",
    post_logout_redirect_uri: location.origin + "/bye",
    scope: "openid profile email groups offline_access",
    loadUserInfo: true,
  });
  const show = (user) => { state.textContent = user ? user.profile.name + " " + user.profile.groups + " " + Boolean(user.refresh_token) : "nobody"; };
  const run = (action) => action.catch((error) => { state.textContent = "failed: " + (error.error ?? error); });
  document.querySelector("#in").onclick = () => run(manager.signinRedirect());
  document.querySelector("#refresh").onclick = () => run(manager.signinSilent().then((user) => { show(user); state.textContent += " again"; }));
  document.querySelector("#out").onclick = () => run(manager.signoutRedirect());
  const begin = { "/callback": () => manager.signinCallback(), "/bye": () => manager.signoutCallback().then(() => manager.getUser()) };
  run((begin[location.pathname] ?? (() => manager.getUser()))().then(show));
</script>
`;

const server = createServer(({ url }, response) => {
  const [type, body] = url === "/library.js" ? ["text/javascript", library] : ["text/html; charset=utf-8", page];
  response.writeHead(200, { "content-type": type }).end(body);
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(JSON.stringify({ address: `http://127.0.0.1:${PORT}` })));
process.stdin.resume().on("end", () => process.exit(0));
