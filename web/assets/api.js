// Asks the desk. An answer is always {code, message, data}; nothing is ever thrown.

const PATIENCE = 15000;
const WORDS = {
  offline: ['The desk cannot be reached. Check your connection and try again.', '无法连接服务台，请检查网络后重试。'],
  unanswered: [
    'No answer came, so it may have been done or not. Look before you try again.',
    '未收到答复，操作可能已完成，也可能未完成。请先查看结果再重试。',
  ],
  unreadable: ['The desk gave an answer that this page does not understand. Please try again.', '服务台返回了无法识别的内容，请重试。'],
};

const liked = [document.documentElement.lang, ...(navigator.languages || [navigator.language])];
const spoken = liked.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag === 'en' || tag === 'zh');

/** The language of the page, where the desk speaks it, else the one that the browser likes best. */
export const language = spoken === 'zh' ? 'zh-CN' : 'en';

// Whoever asks may show every message as it is: also that there was no answer is told in the words of the person.
const failed = (word) => ({ code: -1, message: WORDS[word][language === 'en' ? 0 : 1], data: null, wait: 0 });

async function call(path, options) {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), PATIENCE);
  try {
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal: giveUp.signal, ...options });
    const text = await response.text();
    try {
      const { code, message, data } = JSON.parse(text);
      const whole = Number.isInteger(code) && (code !== 0 || data);
      const wait = Number(response.headers.get('retry-after')) || 0;
      return whole ? { code, message: String(message), data, wait } : failed('unreadable');
    } catch (_) {
      return failed('unreadable');
    }
  } catch (_) {
    // What only reads can be asked again; whether anything else was done, nobody knows.
    return failed(options.method === 'GET' || !navigator.onLine ? 'offline' : 'unanswered');
  } finally {
    clearTimeout(timer);
  }
}

// Tells the desk that a page of its own asks: no other origin can send this, and older browsers do not say it themselves.
const OURS = { 'X-Requested-With': 'deskpass', 'Accept-Language': language };

/** What goes along with every question; for those that are not about JSON. */
export function headersOf({ body, token, code }) {
  const headers = { ...OURS };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  if (code) headers['X-OTP-Code'] = code;
  return headers;
}

/**
 * Asks by any method, with a body of JSON, a token and a one-time password as far as they are given. `code` in the answer
 * is 0 for success, a code of the desk, or -1 without a readable answer; `wait` is after how many seconds to ask again.
 */
export const ask = (method, path, given = {}) =>
  call(path, { method, headers: headersOf(given), body: given.body === undefined ? undefined : JSON.stringify(given.body) });

/** Reads. */
export const get = (path, token) => ask('GET', path, { token });

/** Posts JSON. */
export const post = (path, body, token) => ask('POST', path, { body, token });
