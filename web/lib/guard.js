// Prevents a press that was meant for another page from counting on this one.
//
// A foreign page can make people tap or type in a rhythm and then navigate to one of our questions. So a control with
// consequences stays disabled until its question was visible and untouched for a while.

/** How long a question must be visible and untouched before an answer counts. */
const QUIET_TIME_MS = 1500;
const TICK_MS = 100;
const INPUT_EVENTS = [
  'pointerdown', 'pointerup', 'pointercancel', 'touchstart', 'touchend', 'mousedown', 'mouseup', 'click', 'keydown', 'keyup',
];

/**
 * Disables a control until its question was visible and untouched for the quiet time. Counts the seconds down behind `label`, and
 * calls `enabled` each time the control becomes usable. A covered or left page starts again. Several controls in a list, of which
 * one is the answer, are guarded together, with a label of their own. Returns how to stop it.
 */
export function guard(control, label = control, enabled = () => {}) {
  const [text, pointersDown, controls] = [label.dataset.text || label.textContent, new Set(), [control].flat()];
  const disable = (isDisabled) => controls.forEach((one) => { one.disabled = isDisabled; });
  let [quietSince, enabledAt] = [performance.now(), null];
  label.dataset.text = text;
  controls.forEach((one) => { one.dataset.guarded = ''; });

  const restart = () => {
    [quietSince, enabledAt] = [performance.now(), null];
    disable(true);
    tick();
  };
  const tick = () => {
    if (enabledAt !== null) return;
    if (document.visibilityState !== 'visible' || pointersDown.size > 0) quietSince = performance.now();
    const left = quietSince + QUIET_TIME_MS - performance.now();
    label.textContent = left > 0 ? `${text} (${Math.ceil(left / 1000)})` : text;
    if (left > 0) return;
    enabledAt = performance.now();
    disable(false);
    enabled();
  };
  const onInput = (event) => {
    if (event.type === 'pointerdown') pointersDown.add(event.pointerId);
    if (event.type === 'pointerup' || event.type === 'pointercancel') pointersDown.delete(event.pointerId);
    // The event may have waited in the queue since before the control was enabled.
    if (enabledAt === null || event.timeStamp < enabledAt) restart();
    // A key that is held down may have been pressed on another page.
    if (event.repeat && controls.includes(event.target)) event.preventDefault();
  };
  const onClick = (event) => {
    if (event.isTrusted && !event.currentTarget.disabled && enabledAt !== null && event.timeStamp >= enabledAt) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  // Covered by another window or left for another tab: the first press after that may be meant for the previous content.
  const onReturn = () => {
    pointersDown.clear();
    restart();
  };

  const timer = setInterval(tick, TICK_MS);
  INPUT_EVENTS.forEach((name) => window.addEventListener(name, onInput, { capture: true, passive: false }));
  controls.forEach((one) => one.addEventListener('click', onClick, true));
  document.addEventListener('visibilitychange', onReturn);
  window.addEventListener('focus', onReturn);
  restart();
  return () => {
    clearInterval(timer);
    INPUT_EVENTS.forEach((name) => window.removeEventListener(name, onInput, { capture: true }));
    controls.forEach((one) => one.removeEventListener('click', onClick, true));
    document.removeEventListener('visibilitychange', onReturn);
    window.removeEventListener('focus', onReturn);
    label.textContent = text;
    disable(true);
  };
}
