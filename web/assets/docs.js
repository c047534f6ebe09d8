// Shows the OpenAPI description that the service publishes.

import './docs-words.js';
import { language, say, sayOr } from './words.js';

const chinese = language !== 'en';

/** An element with texts and other elements in it; all values are text, never markup. */
function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...inside.filter((piece) => piece !== null && piece !== undefined));
  return element;
}

/** The schema behind a reference. */
const resolve = (all, schema) =>
  schema && schema.$ref ? schema.$ref.slice(2).split('/').reduce((at, key) => at[key], all) : schema || {};

/** The type of a value in a few words. */
function form(all, given) {
  const schema = resolve(all, given);
  const one = schema.anyOf || schema.oneOf;
  if (one) return [...new Set(one.map((each) => form(all, each)))].join(` ${say('docs_or')} `);
  if (schema.enum) return schema.enum.join(' | ');
  if ('const' in schema) return String(schema.const);
  if (schema.type === 'array') return say('docs_list_of', { of: form(all, schema.items) });
  const kinds = [].concat(schema.type || 'object').join(` ${say('docs_or')} `);
  const range = 'minimum' in schema && 'maximum' in schema
    ? say('docs_from_to', { least: schema.minimum, most: schema.maximum }) : null;
  return [kinds, schema.format, schema.pattern, range].filter(Boolean).join(', ');
}

/** One line of a list of members. */
const line = (name, about, note) =>
  make('li', {}, make('code', {}, name), ' ', make('span', { class: 'form' }, about), note ? make('small', {}, ` ${note}`) : null);

/** The members of an object, including those of nested objects. */
function members(all, given, before = '', depth = 0) {
  const schema = resolve(all, given);
  if (schema.anyOf && depth === 0) return schema.anyOf.flatMap((each, at) => [
    ...(at ? [make('li', { class: 'or' }, say('docs_or'))] : []), ...members(all, each, before, depth),
  ]);
  const required = schema.required || [];
  return Object.entries(schema.properties || {}).flatMap(([name, property]) => {
    const own = resolve(all, property);
    const inner = own.type === 'array' ? resolve(all, own.items) : own;
    const path = before + name + (own.type === 'array' ? '[]' : '');
    const note = required.includes(name) ? '' : say('docs_optional');
    const nested = depth < 3 && inner.properties ? members(all, inner, `${path}.`, depth + 1) : [];
    return nested.length ? nested : [line(path, form(all, property), note)];
  });
}

const part = (title, lines) => (lines.length ? [make('h3', {}, title), make('ul', {}, ...lines)] : []);

function parameters(all, operation) {
  return part(say('docs_parameters'), (operation.parameters || []).map((parameter) => {
    const needed = say(parameter.required ? 'docs_required' : 'docs_optional');
    return line(parameter.name, form(all, parameter.schema), `${say(`docs_${parameter.in}`)}, ${needed}`);
  }));
}

/** The schema of a JSON body. */
const bodyOf = (operation) => Object.values((operation.requestBody || { content: {} }).content).map((each) => each.schema)[0];

function success(all, operation) {
  const answer = operation.responses['200'];
  if (!answer) return [make('h3', {}, say('docs_redirect'))];
  return Object.entries(answer.content).flatMap(([kind, { schema }]) =>
    schema.properties
      ? part(say('docs_answer'), members(all, schema.properties.data))
      : [make('h3', {}, say('docs_plain', { kind }))]);
}

function failures(all, operation) {
  const rows = Object.entries(operation.responses).filter(([status]) => status >= 400).flatMap(([status, answer]) => {
    const codes = answer.content['application/json'].schema.allOf[1].properties.code.enum;
    return codes.map((code) => line(`${status} ${code}`, (all['x-codes'][code] || ['', ''])[chinese ? 1 : 0]));
  });
  return part(say('docs_failures'), rows);
}

/** A sample value for a field. */
function sample(all, given) {
  const schema = resolve(all, given);
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'integer') return schema.minimum || 0;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array') return [];
  return '…';
}

function curl(all, method, path, operation) {
  const needed = (operation.parameters || []).filter((parameter) => parameter.required);
  const query = needed.filter((each) => each.in === 'query').map((each) => `${each.name}=${sample(all, each.schema)}`).join('&');
  const words = ['curl'];
  if (method !== 'get') words.push(`-X ${method.toUpperCase()}`);
  if (operation.security.length && Object.keys(operation.security[0]).length) words.push("-H 'Authorization: Bearer …'");
  needed.filter((each) => each.in === 'header').forEach((each) => words.push(`-H '${each.name}: …'`));
  const body = bodyOf(operation);
  if (body) {
    const sent = Object.fromEntries((body.required || []).map((name) => [name, sample(all, body.properties[name])]));
    words.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(sent)}'`);
  }
  words.push(`'${location.origin}${path}${query ? `?${query}` : ''}'`);
  return words.join(' ');
}

function show(all, method, path, operation) {
  const text = operation[chinese ? 'x-summary-zh' : 'summary'];
  const body = bodyOf(operation);
  return make('details', { class: 'operation', id: operation.operationId },
    make('summary', {},
      make('span', { class: `method ${method}` }, method.toUpperCase()), ' ', make('code', {}, path),
      make('span', { class: 'about' }, text)),
    make('div', { class: 'inside' },
      make('h3', {}, say('docs_who')), make('p', {}, sayOr(`who_${operation['x-who']}`)),
      ...parameters(all, operation),
      ...(body ? part(say('docs_body'), members(all, body)) : []),
      ...success(all, operation), ...failures(all, operation),
      make('h3', {}, say('docs_example')), make('pre', {}, curl(all, method, path, operation))));
}

function showAll(all) {
  const operations = Object.entries(all.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  operations.sort((one, other) => one.operation['x-place'] - other.operation['x-place']);
  all.tags.forEach((tag, at) => {
    const name = tag[chinese ? 'x-name-zh' : 'name'];
    const own = operations.filter(({ operation }) => operation.tags.includes(tag.name));
    document.getElementById('flows').append(make('a', { href: `#flow-${at}` }, name));
    document.getElementById('operations').append(make('section', { id: `flow-${at}` }, make('h2', {}, name),
      ...own.map(({ path, method, operation }) => show(all, method, path, operation))));
  });
}

/** Opens the operation that the address names. */
function openNamed() {
  const named = document.getElementById(location.hash.slice(1));
  if (!named) return;
  if (named.tagName === 'DETAILS') named.open = true;
  named.scrollIntoView();
}

try {
  showAll(await (await fetch('/api/openapi.json', { redirect: 'error' })).json());
  document.body.dataset.view = 'docs';
  openNamed();
  window.addEventListener('hashchange', openNamed);
} catch (_) {
  const refusal = document.getElementById('refusal');
  refusal.textContent = say('docs_unreadable');
  refusal.hidden = false;
}
