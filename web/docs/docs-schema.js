// Reads the schemas of the API description: types in a few words, members with their meaning, sample values.

import { language, say } from '../lib/words.js';

const chinese = language !== 'en';

/** The schema behind a reference. */
export const resolve = (all, schema) =>
  schema && schema.$ref ? schema.$ref.slice(2).split('/').reduce((at, key) => at[key], all) : schema || {};

/** The meaning of a field, in the language of the page where the description has it. */
export const meaning = (described) => (chinese && described['x-description-zh']) || described.description || '';

/** The type of a value in a few words. */
export function form(all, given) {
  const schema = resolve(all, given);
  const one = schema.anyOf || schema.oneOf;
  if (one) return [...new Set(one.map((each) => form(all, each)))].join(` ${say('docs_or')} `);
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if ('const' in schema) return String(schema.const);
  if (schema.type === 'array') return say('docs_list_of', { of: form(all, schema.items) });
  const kinds = [].concat(schema.type || 'object').join(` ${say('docs_or')} `);
  const range = 'minimum' in schema && 'maximum' in schema
    ? say('docs_from_to', { least: schema.minimum, most: schema.maximum }) : null;
  return [kinds, schema.format, schema.pattern, range].filter(Boolean).join(', ');
}

/** The alternatives of a schema that are objects, or the schema itself. */
function alternatives(all, given) {
  const schema = resolve(all, given);
  const objects = (schema.anyOf || schema.oneOf || []).map((each) => resolve(all, each)).filter((each) => each.properties);
  return objects.length ? objects : [schema];
}

/**
 * The members of an object and of the objects in it: `{name, type, optional, meaning}`, with the path as the name. Between the
 * alternatives of an object stands `null`.
 */
export function members(all, given, before = '', depth = 0) {
  return alternatives(all, given).flatMap((schema, at) => {
    const required = schema.required || [];
    const own = Object.entries(schema.properties || {}).flatMap(([name, property]) => {
      const inner = resolve(all, property);
      const isList = inner.type === 'array';
      const path = before + name + (isList ? '[]' : '');
      const text = meaning(property) || meaning(inner);
      const row = { name: path, type: form(all, property), optional: !required.includes(name), meaning: text };
      return [row, ...(depth < 3 ? members(all, isList ? inner.items : property, `${path}.`, depth + 1) : [])];
    });
    return at && own.length ? [null, ...own] : own;
  });
}

/** The schema of a JSON body. */
export const bodyOf = (operation) => Object.values((operation.requestBody || { content: {} }).content).map((each) => each.schema)[0];

/** The successful responses with a body: the media type and the schema of each. */
export const successes = (operation) =>
  Object.entries((operation.responses['200'] || { content: {} }).content).map(([kind, { schema }]) => ({ kind, schema }));

/** A sample value for a field. */
export function sample(all, given) {
  const schema = resolve(all, given);
  const one = schema.anyOf || schema.oneOf;
  if (one) return sample(all, one[0]);
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'integer') return schema.minimum || 0;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array') return [];
  return '…';
}

/** A body with the required fields. */
export const sampleBody = (all, body) =>
  Object.fromEntries((body.required || []).map((name) => [name, sample(all, body.properties[name])]));

/** The credentials that an operation takes, by the names in the description; the empty list where it takes none. */
export const credentials = (operation) => operation.security.flatMap(Object.keys);

/** The scopes that a service key needs for an operation. */
export const scopes = (operation) => operation.security.flatMap((one) => one.service_key || []);

/** Everything that a search looks through, in lower case. */
export function searchText(all, { method, path, operation }) {
  const bodies = successes(operation).map(({ schema }) => (schema.properties ? schema.properties.data : schema));
  const body = bodyOf(operation);
  const rows = [...(body ? members(all, body) : []), ...bodies.flatMap((schema) => members(all, schema))].filter(Boolean);
  const words = [
    method, path, operation.summary, operation['x-summary-zh'], ...operation.tags,
    ...operation.parameters.flatMap((parameter) => [parameter.name, meaning(parameter)]),
    ...rows.flatMap((row) => [row.name, row.meaning]),
  ];
  return words.join(' ').toLowerCase();
}
