// Looking again every now and then.

/**
 * Looks at once, and then every so many milliseconds: only while somebody looks at the page, and at once when they come back
 * to it or the network does. Returns how to stop.
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
