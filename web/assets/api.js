// Asks the desk. An answer is always {code, message, data}; nothing is ever thrown.

const PATIENCE = 15000;
const WORDS = {
  offline: ['The desk cannot be reached. Check your connection and try again.', '无法连接服务台，请检查网络后重试。'],
  unreadable: ['The desk gave an answer that this page does not understand. Please try again.', '服务台返回了无法识别的内容，请重试。'],
};

const liked = (navigator.languages || [navigator.language]).map((tag) => String(tag).slice(0, 2).toLowerCase());
/** The language of the browser, as far as the desk speaks it. */
export const language = liked.find((tag) => tag === 'en' || tag === 'zh') === 'zh' ? 'zh-CN' : 'en';

// Whoever asks may show every message as it is: also that there was no answer is told in the words of the person.
const failed = (word) => ({ code: -1, message: WORDS[word][language === 'en' ? 0 : 1], data: null });

async function call(path, options) {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), PATIENCE);
  try {
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal: giveUp.signal, ...options });
    const text = await response.text();
    try {
      const { code, message, data } = JSON.parse(text);
      const whole = Number.isInteger(code) && (code !== 0 || data);
      return whole ? { code, message: String(message), data } : failed('unreadable');
    } catch (_) {
      return failed('unreadable');
    }
  } catch (_) {
    return failed('offline');
  } finally {
    clearTimeout(timer);
  }
}

// Tells the desk that a page of its own asks: no other origin can send this, and older browsers do not say it themselves.
const OURS = { 'X-Requested-With': 'deskpass' };
const bearer = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

/** Reads; `code` is 0 for success, a code of the desk, or -1 without a readable answer. */
export const get = (path, token) => call(path, { headers: { ...OURS, ...bearer(token) } });

/** Posts JSON; answers as `get` does. */
export const post = (path, body, token) =>
  call(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...OURS, ...bearer(token) },
    body: JSON.stringify(body),
  });
