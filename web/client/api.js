// Calls the service. A response is always {code, message, data}; nothing is ever thrown.

const REQUEST_TIMEOUT_MS = 15000;
const WORDS = {
  offline: ['The service cannot be reached. Check your connection and try again.', '无法连接服务器，请检查网络后重试。'],
  unanswered: [
    'No response was received, so the change may or may not have been made. Check before you try again.',
    '未收到响应，操作可能已完成，也可能未完成。请先查看结果再重试。',
  ],
  unreadable: ['The service sent a response that this page cannot read. Please try again.', '服务器返回了无法识别的内容，请重试。'],
};

const liked = [document.documentElement.lang, ...(navigator.languages || [navigator.language])];
const spoken = liked.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag === 'en' || tag === 'zh');

/** The language of the page, where the service supports it, else the browser's preferred one. */
export const language = spoken === 'zh' ? 'zh-CN' : 'en';

// Callers may show every message as it is: a missing response is also reported in the user's language.
const failed = (word) => ({ code: -1, message: WORDS[word][language === 'en' ? 0 : 1], data: null, wait: 0, ref: '' });

// Refusals that the help desk may have to look up: their messages end with the reference. A failure has it in its own words.
const LOOKED_UP = [1003, 1011, 1012, 1013, 1017];

/** The reference of a response as the end of a sentence; empty where it has none. */
export const refAside = ({ ref }) => ref && (language === 'en' ? ` (ref ${ref})` : `（参考编号 ${ref}）`);

// A request id begins with the reference of its request, unless a proxy chose it.
const refOf = (id) => (/^[0-9a-f]{8}-[0-9]+$/.exec(id) ? id.slice(0, 8) : '');

async function call(path, options) {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), REQUEST_TIMEOUT_MS);
  try {
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal: giveUp.signal, ...options });
    const text = await response.text();
    try {
      const { code, message, data, request_id: id } = JSON.parse(text);
      const whole = Number.isInteger(code) && (code !== 0 || data);
      const wait = Number(response.headers.get('retry-after')) || 0;
      if (!whole) return failed('unreadable');
      const ref = code === 0 ? '' : refOf(id);
      return { code, message: LOOKED_UP.includes(code) ? message + refAside({ ref }) : String(message), data, wait, ref };
    } catch (_) {
      return failed('unreadable');
    }
  } catch (_) {
    // A read can be repeated; whether any other request was carried out is unknown.
    return failed(options.method === 'GET' || !navigator.onLine ? 'offline' : 'unanswered');
  } finally {
    clearTimeout(timer);
  }
}

// Marks requests of our own pages: no other origin can send this header, and older browsers send nothing equivalent.
const OURS = { 'X-Requested-With': 'deskpass', 'Accept-Language': language };

/** The headers of every request; exported for requests whose response is not JSON. */
export function headersOf({ body, token, code, approval }) {
  const headers = { ...OURS };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  if (code) headers['X-OTP-Code'] = code;
  if (approval) headers['X-Approval'] = approval;
  return headers;
}

/**
 * Sends a request, with a JSON body, a token, a one-time password or the id of an approval if given.
 * @param {string} method
 * @param {string|URL} path
 * @param {{body?: object, token?: string, code?: string, approval?: string}} [given]
 * @returns {Promise<{code: number, message: string, data: ?object, wait: number, ref: string}>} `code` is 0 for success, a code
 *   of the service, or -1 without a readable response; `message` is for people; `wait` is the seconds before a retry;
 *   `ref` is the reference of a refusal for the help desk, or empty
 */
export const ask = (method, path, given = {}) =>
  call(path, { method, headers: headersOf(given), body: given.body === undefined ? undefined : JSON.stringify(given.body) });

/**
 * Sends a GET request.
 * @param {string|URL} path
 * @param {string} [token]
 * @returns {Promise<object>} a response, as from `ask`
 */
export const get = (path, token) => ask('GET', path, { token });

/**
 * Posts JSON.
 * @param {string|URL} path
 * @param {object} body
 * @param {string} [token]
 * @returns {Promise<object>} a response, as from `ask`
 */
export const post = (path, body, token) => ask('POST', path, { body, token });
