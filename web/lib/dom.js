// Creates elements from data of the service: all values are text, never markup.

/** An element by its id. */
export const $ = (id) => document.getElementById(id);

/**
 * Makes an element. Attributes that are null or false are left out, `on…` are listeners, and children may be elements, texts,
 * lists of these, or nothing.
 */
export function h(tag, attributes = {}, ...children) {
  return assemble(document.createElement(tag), attributes, children);
}

/** Makes an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return assemble(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...wanted(children));
  return element;
}

function assemble(element, attributes, children) {
  Object.entries(attributes).forEach(([name, value]) => {
    if (value === null || value === undefined || value === false) return;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  });
  return fill(element, ...children);
}

const wanted = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** The host of a URL in ASCII: lookalike letters are shown in punycode. */
export const hostOf = (address) => new URL(address).host;

/** A web address from untrusted text, else nothing: a link must not run a script. */
export function webAddress(text) {
  try {
    const url = new URL(text, location.origin);
    return /^https?:$/.test(url.protocol) ? url.href : null;
  } catch (_) {
    return null;
  }
}
