// The line that tells the result of an operation. It must not cover what the user presses next.

import { h } from '../lib/dom.js';

const [SHORT, LONG] = [6000, 12000];
const CONTROLS = 'a, button, input, select, textarea, summary';

/** The line; it is in the page for as long as the desk is open, so that screen readers follow it. */
export class StatusLine {
  constructor() {
    this.element = h('p', { id: 'status-line', role: 'status' });
  }

  /** Shows a result or an error for a while, at the end of the screen where no control is, or else above the view. */
  say(text, bad = false) {
    this.element.classList.toggle('bad', bad);
    this.element.textContent = text;
    const free = ['bottom', 'top'].find((at) => this.isFree(at));
    this.element.dataset.at = free || 'flow';
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.clearStatus(), bad ? LONG : SHORT);
  }

  /** Ends the message, as when the user goes to another view. */
  clearStatus() {
    clearTimeout(this.timer);
    this.element.replaceChildren();
  }

  /** The name in 0.2.0, whose modules may run with this one during an upgrade. */
  hush() {
    this.clearStatus();
  }

  isFree(at) {
    this.element.dataset.at = at;
    const line = this.element.getBoundingClientRect();
    const isCovered = (control) => [...control.getClientRects()].some((box) =>
      box.width > 0 && box.left < line.right && box.right > line.left && box.top < line.bottom && box.bottom > line.top);
    return ![...document.querySelectorAll(CONTROLS)].some(isCovered);
  }
}
