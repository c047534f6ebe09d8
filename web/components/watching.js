// Polling while the page is visible.

/**
 * Runs `look` at once, and then at this interval in milliseconds: only while the page is visible, and at once when it becomes
 * visible or the network is back. Returns a function that stops it.
 */
export function watching(every, look) {
  const seen = () => document.visibilityState === 'visible' && look();
  const timer = setInterval(seen, every);
  document.addEventListener('visibilitychange', seen);
  window.addEventListener('online', seen);
  seen();
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', seen);
    window.removeEventListener('online', seen);
  };
}
