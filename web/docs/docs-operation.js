// Shows one operation of the API description.

import { bodyOf, credentials, form, meaning, members, sample, sampleBody, scopes, successes } from './docs-schema.js';
import { h } from '../lib/dom.js';
import { language, say, sayOr } from '../lib/words.js';

const chinese = language !== 'en';
const TOKENS = { session: 'dpa_…', partial_session: 'dph_…', service_key: 'dpk_…' };

/** A text in which backticks enclose code. */
const withCode = (text) => text.split('`').map((piece, at) => (at % 2 ? h('code', {}, piece) : piece));

/** One line of a list of members. */
const line = (name, type, note, text) =>
  h('li', {}, h('code', {}, name), ' ', h('span', { class: 'form' }, type), note && h('small', {}, ` ${note}`),
    text && h('p', { class: 'meaning' }, withCode(text)));

const memberLine = (member) => (member
  ? line(member.name, member.type, member.optional && say('docs_optional'), member.meaning)
  : h('li', { class: 'or' }, say('docs_or')));

const part = (title, lines) => (lines.length ? [h('h3', {}, title), h('ul', {}, lines)] : []);

function parameters(all, operation) {
  return part(say('docs_parameters'), operation.parameters.map((parameter) => {
    const needed = say(parameter.required ? 'docs_required' : 'docs_optional');
    return line(parameter.name, form(all, parameter.schema), `${say(`docs_${parameter.in}`)}, ${needed}`, meaning(parameter));
  }));
}

function success(all, operation) {
  const answers = successes(operation);
  if (!answers.length) return [h('h3', {}, say(operation.responses['101'] ? 'docs_socket' : 'docs_redirect'))];
  return answers.flatMap(({ kind, schema }) =>
    schema.properties
      ? part(say('docs_answer'), members(all, schema.properties.data).map(memberLine))
      : [h('h3', {}, say('docs_plain', { kind }))]);
}

function failures(all, operation) {
  const rows = Object.entries(operation.responses).filter(([status]) => status >= 400).flatMap(([status, answer]) =>
    answer['x-codes'].map((code) => line(`${status} ${code}`, withCode((all['x-codes'][code] || ['', ''])[chinese ? 1 : 0]))));
  return part(say('docs_failures'), rows);
}

function curl(all, { method, path, operation }) {
  const needed = operation.parameters.filter((parameter) => parameter.required);
  const query = needed.filter((each) => each.in === 'query').map((each) => `${each.name}=${sample(all, each.schema)}`).join('&');
  const [credential] = credentials(operation);
  const words = ['curl'];
  if (method !== 'get') words.push(`-X ${method.toUpperCase()}`);
  if (credential && Object.keys(operation.security[0]).length) words.push(`-H 'Authorization: Bearer ${TOKENS[credential]}'`);
  needed.filter((each) => each.in === 'header').forEach((each) => words.push(`-H '${each.name}: …'`));
  const body = bodyOf(operation);
  if (body) words.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(sampleBody(all, body))}'`);
  words.push(`'${location.origin}${path}${query ? `?${query}` : ''}'`);
  return words.join(' ');
}

function who(operation) {
  const needed = scopes(operation);
  return needed.length ? say('who_service_scope', { scope: needed.join(', ') }) : sayOr(`who_${operation['x-who']}`);
}

/** The details of an operation, which are made when it is opened. */
function details(all, entry) {
  const { operation } = entry;
  const body = bodyOf(operation);
  return [
    h('h3', {}, say('docs_who')), h('p', {}, who(operation)),
    parameters(all, operation),
    body ? part(say('docs_body'), members(all, body).map(memberLine)) : [],
    body && operation.requestBody['x-accepts-form'] ? h('p', { class: 'meaning' }, say('docs_form')) : [],
    success(all, operation), failures(all, operation),
    h('h3', {}, say('docs_example')), h('pre', {}, curl(all, entry)),
  ];
}

/** The element of an operation. `trial(entry)` makes what to try it out with, or nothing. */
export function show(all, entry, trial) {
  const { method, path, operation } = entry;
  const inside = h('div', { class: 'inside' });
  const element = h('details', { class: 'operation', id: operation.operationId },
    h('summary', {},
      h('span', { class: `method ${method}` }, method.toUpperCase()), ' ', h('code', {}, path),
      h('span', { class: 'about' }, operation[chinese ? 'x-summary-zh' : 'summary'])),
    inside);
  element.addEventListener('toggle', () => {
    if (element.open && !inside.firstChild) inside.append(...details(all, entry).flat(2), ...trial(entry));
  });
  return element;
}
