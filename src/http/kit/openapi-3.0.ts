// Writes the OpenAPI 3.1 document again in the older 3.0, for generators that know neither values of several types nor
// `null` as a type. Such values become any value, choices between objects become one object, and aliases are left out.
type Json = Record<string, unknown>

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

export function toOpenApi30(document: Json): Json {
  const { paths, components, webhooks: _webhooks, info, ...rest } = document as Record<string, Json>
  const { schemas, ...otherComponents } = components as { schemas: Record<string, Json> }
  const { license, ...otherInfo } = info as { license: Json }
  const { identifier, ...plainLicense } = license
  const written = Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, schemaOf(schema, schemas)]))
  const operations = inSchemas(onlyFirstPaths(paths ?? {}), schemas) as Json
  return {
    ...rest,
    openapi: '3.0.3',
    // 3.0 knows no identifiers of licences.
    info: { ...otherInfo, license: { ...plainLicense, url: `https://spdx.org/licenses/${String(identifier)}` } },
    paths: operations,
    components: { ...otherComponents, schemas: onlyUsed(written, operations) },
  }
}

function onlyFirstPaths(paths: Json): Json {
  const kept = Object.entries(paths).map(([path, methods]) => {
    const first = Object.entries(methods as Record<string, Json>).filter(([, { deprecated }]) => deprecated !== true)
    return [path, Object.fromEntries(first)] as const
  })
  return Object.fromEntries(kept.filter(([, methods]) => Object.keys(methods).length > 0))
}

/** Rewrites the schemas of parameters, which are written in place. Generators need no examples, and 3.0 has no null in them. */
function inSchemas(value: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((each) => inSchemas(each, schemas))
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'example')
      .map(([key, inner]) => [
        key,
        key === 'schema' && isJson(inner) ? schemaOf(inner, schemas) : inSchemas(inner, schemas),
      ]),
  )
}

/** Some generators write code for each schema, also for those that nothing uses. */
function onlyUsed(schemas: Record<string, Json>, operations: Json): Record<string, Json> {
  const used = new Set<string>()
  const follow = (value: unknown) => {
    for (const [, id = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(id)) continue
      used.add(id)
      follow(schemas[id])
    }
  }
  follow(operations)
  return Object.fromEntries(Object.entries(schemas).filter(([id]) => used.has(id)))
}

function schemaOf(schema: Json, schemas: Record<string, Json>): Json {
  const { anyOf, oneOf, const: only, ...others } = schema
  const { propertyNames: _names, not: _not, contentMediaType: _media, contentSchema: _content, ...rest } = others
  const choices = (anyOf ?? oneOf) as Json[] | undefined
  if (choices) return choiceOf(rest, choices, schemas)
  if (Array.isArray(schema['type'])) return choiceOf({}, typesOf(schema), schemas)
  if ('$ref' in schema) return Object.keys(rest).length > 1 ? choiceOf(rest, [{ $ref: rest['$ref'] }], schemas) : schema
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, keywordOf(key, value, schemas)])),
    ...(only === undefined ? {} : { enum: [only] }),
    ...exclusive(rest, 'minimum', 'exclusiveMinimum'),
    ...exclusive(rest, 'maximum', 'exclusiveMaximum'),
    ...(isJson(rest['properties']) ? objectOf(rest as ObjectSchema, schemas) : {}),
  }
}

/** Zod writes `["string", "null"]` for a text that may be null. */
const typesOf = (schema: Json): Json[] =>
  (schema['type'] as string[]).map((type) => (type === 'null' ? { type } : { ...schema, type }))

function keywordOf(key: string, value: unknown, schemas: Record<string, Json>): unknown {
  return (key === 'items' || key === 'additionalProperties') && isJson(value) ? schemaOf(value, schemas) : value
}

const exclusive = (schema: Json, bound: string, keyword: string): Json =>
  typeof schema[keyword] === 'number' ? { [bound]: schema[keyword], [keyword]: true } : {}

type ObjectSchema = Json & { properties: Record<string, Json>; required?: string[] }

const isNull = ({ type }: Json) => type === 'null'

/** A property that is always null says nothing. */
function objectOf({ properties, required = [] }: ObjectSchema, schemas: Record<string, Json>): Json {
  const kept = Object.entries(properties).filter(([, property]) => !isNull(property))
  const stillRequired = required.filter((name) => kept.some(([key]) => key === name))
  return {
    properties: Object.fromEntries(kept.map(([name, property]) => [name, schemaOf(property, schemas)])),
    // 3.0 allows no empty list.
    required: stillRequired.length > 0 ? stillRequired : undefined,
  }
}

function choiceOf(rest: Json, choices: Json[], schemas: Record<string, Json>): Json {
  const values = choices.filter((choice) => !isNull(choice))
  const nullable = values.length < choices.length ? { nullable: true } : {}
  const resolved = values.map((each) => resolve(each, schemas))
  const [value] = values
  if (value && values.length === 1) {
    if (!('$ref' in value)) {
      const written = schemaOf({ ...value, ...rest }, schemas)
      return 'type' in written ? { ...written, ...nullable } : written
    }
    const { type } = schemaOf(resolved[0] ?? {}, schemas)
    const { $ref: _ref, ...others } = rest
    return type === undefined ? others : { ...others, type, allOf: [value], ...nullable }
  }
  const objects = resolved.filter((each): each is ObjectSchema => isJson(each['properties']))
  if (objects.length === resolved.length) return { ...schemaOf({ ...merged(objects), ...rest }, schemas), ...nullable }
  return { description: 'One of several types', ...rest }
}

function resolve(schema: Json, schemas: Record<string, Json>): Json {
  const reference = schema['$ref']
  return typeof reference === 'string' ? (schemas[reference.split('/').at(-1) ?? ''] ?? {}) : schema
}

/** One object with the properties of all. Those are required that each of them requires. */
function merged(objects: ObjectSchema[]): Json {
  const names = new Set(objects.flatMap(({ properties }) => Object.keys(properties)))
  const properties = [...names].map((name) => [
    name,
    either(objects.flatMap<Json>((each) => each.properties[name] ?? [])),
  ])
  const isRequired = (name: string) => objects.every(({ required = [] }) => required.includes(name))
  return { type: 'object', properties: Object.fromEntries(properties), required: [...names].filter(isRequired) }
}

function either(properties: Json[]): Json {
  const [first = {}, ...others] = properties.filter((each) => !isNull(each))
  if (others.every((each) => JSON.stringify(each) === JSON.stringify(first))) return first
  const choices = [first, ...others].flatMap(choicesIn)
  const values = choices.filter((each) => !isNull(each))
  const nulls = values.length < choices.length ? [{ type: 'null' }] : []
  const areTexts = values.every(({ type }) => type === 'string')
  return { anyOf: [...(areTexts ? [textOf(values)] : values), ...nulls], description: first['description'] }
}

const choicesIn = (schema: Json): Json[] =>
  ((schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined) ??
  (Array.isArray(schema['type']) ? typesOf(schema) : [schema])

function textOf(values: Json[]): Json {
  const constants = values.flatMap((each) => each['const'] ?? (each['enum'] as unknown[] | undefined) ?? [])
  return { type: 'string', ...(constants.length >= values.length && { enum: [...new Set(constants)] }) }
}
