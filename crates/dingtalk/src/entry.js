// Obtains a code from the platform's script `dd`, inside the platform's own client.

/** How long the script and the client may take, together: on the first visit the client may ask the user. As the page has it. */
const SCRIPT_TIMEOUT_MS = 60000;
/** How long the script may take to connect to the client, in milliseconds. */
const READY_TIMEOUT_MS = 5_000;
/** The interval at which the page looks for the script. */
const POLL_INTERVAL_MS = 50;

/**
 * Resolves to a code of the user who is signed in to the client. The parameters name the corporation and the application:
 * `{ corpId, clientId }`.
 */
export async function requestCode({ corpId, clientId }) {
  const answer = async () => {
    const dd = await within(READY_TIMEOUT_MS, ready());
    return ask(requestOf(dd), { corpId, clientId });
  };
  const code = await within(SCRIPT_TIMEOUT_MS, answer());
  if (typeof code !== "string" || code === "") throw new Error("the client returned no code");
  return code;
}

/** The script, once it is connected to the client. */
async function ready() {
  for (let waited = 0; !globalThis.dd; waited += POLL_INTERVAL_MS) {
    if (waited >= READY_TIMEOUT_MS) throw new Error("the platform's script is missing");
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
  const { dd } = globalThis;
  if (dd.env?.platform === "notInDingTalk") throw new Error("this browser is not the platform's client");
  if (typeof dd.ready === "function") await new Promise((resolve) => dd.ready(resolve));
  // Wrapped: a promise must not take the script for another promise.
  return { dd };
}

/** The call that obtains a code, in its newer or its older place. */
function requestOf({ dd }) {
  if (typeof dd.requestAuthCode === "function") return (parameters) => dd.requestAuthCode(parameters);
  const older = dd.runtime?.permission;
  if (typeof older?.requestAuthCode === "function") return (parameters) => older.requestAuthCode(parameters);
  throw new Error("the platform's script cannot obtain a code");
}

/** Versions of the script differ in the names of the callbacks, and some return a promise besides. */
function ask(request, parameters) {
  return new Promise((resolve, reject) => {
    const success = (result) => {
      if (result?.code) resolve(result.code);
    };
    const fail = (error) => reject(new Error(error?.errorMessage ?? error?.message ?? "the client refused"));
    const callbacks = { success, fail, onSuccess: success, onFail: fail };
    request({ ...parameters, ...callbacks })?.then?.(success, fail);
  });
}

function within(milliseconds, work) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the client does not answer")), milliseconds);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
