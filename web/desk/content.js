// Sanitises the content that services send: texts, a few plain fields, web links. Everything else is left out.

import { webAddress } from '../lib/dom.js';

const LONGEST = 20000;
const [FIELDS, FIELD_LENGTH, OPTIONS] = [12, 400, 20];
// Characters that reverse the text after them or are invisible: with them a text could look different from what it says.
const DECEIVING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
// Members for machines, or shown in a place of their own.
const NOT_SHOWN = /(^|_)(id|ids|type|kind|seq|url|link|href)$|^(title|text|summary|message|options|buttons|links|trace)$/;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text as it may be shown; empty for anything else. */
export function plain(value, longest = LONGEST) {
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const text = String(value).replace(DECEIVING, '').trim();
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** The first of these members that is a text, or the content itself if it is a text. */
export function textOf(content, ...names) {
  if (!isObject(content)) return plain(content);
  return names.map((name) => plain(content[name])).find(Boolean) || '';
}

/** The other plain members, as pairs of a name and a text. */
export function fieldsOf(content) {
  if (!isObject(content)) return [];
  return Object.entries(content)
    .filter(([name]) => !NOT_SHOWN.test(name))
    .map(([name, value]) => [plain(name, 60), plain(value, FIELD_LENGTH)])
    .filter(([name, value]) => name && value)
    .slice(0, FIELDS);
}

/** The options to choose from: texts, or objects with a `label` and any `value`. */
export function optionsOf(content) {
  const given = isObject(content) && Array.isArray(content.options) ? content.options : [];
  return given
    .map((option) => ({
      label: isObject(option) ? textOf(option, 'label', 'text', 'title') : plain(option, FIELD_LENGTH),
      option,
    }))
    .filter(({ label }) => label)
    .slice(0, OPTIONS);
}

/** The web links in the content: its own, and those of its buttons. */
export function linksOf(content) {
  if (!isObject(content)) return [];
  const lists = [content, content.buttons, content.links].flat();
  return lists
    .filter(isObject)
    .map((given) => ({ label: textOf(given, 'label', 'text', 'title'), address: addressOf(given), own: given === content }))
    .filter(({ address }) => address)
    .slice(0, OPTIONS);
}

function addressOf({ url, link, href }) {
  const text = [url, link, href].find((value) => typeof value === 'string' && value);
  return text ? webAddress(text) : null;
}
