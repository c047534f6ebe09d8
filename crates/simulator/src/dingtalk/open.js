// The simulated script of the platform's client: an object `dd` that obtains a code for the user of the client.
"use strict";

(() => {
  const PEOPLE = /* PEOPLE */ [];
  const endpoint = new URL("request-auth-code", document.currentScript.src);

  // The user of this simulated client: named in the page's address, chosen before in this tab, or chosen now.
  function namedUser() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    const named = new URLSearchParams(location.search).get("sim_user") ?? fragment.get("sim_user");
    return named ?? sessionStorage.getItem("sim_user");
  }

  function askUser() {
    return new Promise((resolve) => {
      const box = document.createElement("div");
      box.id = "sim-dingtalk";
      Object.assign(box.style, {
        position: "fixed", inset: "0", zIndex: "2147483647", overflow: "auto", padding: "24px", background: "#fff",
        color: "#111", font: "16px sans-serif",
      });
      const title = document.createElement("p");
      title.textContent = "模拟的钉钉：你是谁？ Simulated DingTalk: who are you?";
      box.append(title);
      for (const { id, name } of [...PEOPLE, { id: "deny", name: "拒绝 Refuse" }]) {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.user = id;
        button.textContent = `${name} · ${id}`;
        Object.assign(button.style, { display: "block", margin: "8px 0", padding: "12px", font: "inherit" });
        button.addEventListener("click", () => {
          box.remove();
          resolve(id);
        });
        box.append(button);
      }
      document.body.append(box);
    });
  }

  async function requestAuthCode({ corpId, clientId }) {
    const user = namedUser() ?? (await askUser());
    if (user !== "deny") sessionStorage.setItem("sim_user", user);
    const url = new URL(endpoint);
    url.search = new URLSearchParams({ corpId, ...(clientId ? { clientId } : {}), sim_user: user });
    const response = await fetch(url, { cache: "no-store" });
    const answer = await response.json();
    if (!response.ok) throw answer;
    return answer;
  }

  // Both generations of the call: named callbacks, and a promise besides.
  function withCallbacks(parameters) {
    const { success, fail, onSuccess, onFail } = parameters;
    const answer = requestAuthCode(parameters);
    answer.then(success ?? onSuccess, fail ?? onFail);
    return answer;
  }

  window.dd = {
    env: { platform: "android", appType: "WEB", version: "simulated" },
    ready: (callback) => setTimeout(callback, 0),
    error: () => {},
    requestAuthCode: withCallbacks,
    runtime: { permission: { requestAuthCode: withCallbacks } },
  };
})();
