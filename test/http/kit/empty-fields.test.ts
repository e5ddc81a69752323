import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { z } from 'zod'
import { publicRoutes } from '../../../src/http/app.ts'
import examples from '../../../src/http/examples.json' with { type: 'json' }
import { keepsEmpty, withoutEmpty } from '../../../src/http/kit/empty-fields.ts'
import { apiSchemas } from '../../../src/http/kit/named-schemas.ts'
import { validateBody } from '../../../src/http/kit/validation.ts'

type Field = { path: string; name: string; schema: z.ZodType; within: z.ZodObject }

/** In these fields an empty value says something else than no field. */
const meaningful = [
  'CompletionListRequest.max_tokens',
  'CompletionListRequest.out_type',
  'CompletionListRequest.output_type',
  'CompletionListRequest.system',
  'CompletionRequest.max_tokens',
  'CompletionRequest.out_type',
  'CompletionRequest.output_type',
  'CompletionRequest.system',
  'EvaluationRequest.system',
  'NewApiKey.expires_at',
  'OpenAiChatRequest.messages.content',
  'OpenAiChatRequest.structured_outputs',
  'OpenAiChatRequest.structured_outputs.json',
  'OpenAiCompletionRequest.structured_outputs',
  'OpenAiCompletionRequest.structured_outputs.json',
  'OpenAiEvalChange.metadata',
  'TrainRequest.evaluation.system',
  'WebhookUpdate.description',
  'WebhookUpdate.event_types',
  'WebhookUpdate.url',
]

const bodies = publicRoutes.flatMap(({ name, body }) =>
  body ? [{ route: name, schema: body, id: apiSchemas.get(body)?.id ?? name }] : [],
)

function fieldsIn(schema: z.ZodType, path: string): Field[] {
  const { def } = schema._zod as unknown as z.core.$ZodTypes['_zod']
  const inner = (each: z.core.$ZodType, at = path) => fieldsIn(each as z.ZodType, at)
  if ('innerType' in def) return inner(def.innerType)
  if (def.type === 'pipe') return inner(def.in)
  if (def.type === 'union') return def.options.flatMap((option) => inner(option))
  if (def.type === 'array') return inner(def.element)
  if (def.type === 'record') return inner(def.valueType)
  if (def.type !== 'object') return []
  const within = schema as z.ZodObject
  return Object.entries(within.shape).flatMap(([name, each]) => [
    { path: `${path}.${name}`, name, schema: each as z.ZodType, within },
    ...inner(each, `${path}.${name}`),
  ])
}

/** The empty values that the JSON schema of a field lets a client write, and null. */
function emptyValuesOf(schema: z.ZodType): unknown[] {
  const empty: Record<string, unknown> = { string: '', array: [], object: {} }
  const typesOf = ({ type, anyOf, enum: values, const: only }: z.core.JSONSchema.BaseSchema): unknown[] => [
    ...[type].flat(),
    ...(anyOf ?? []).flatMap((each) => (typeof each === 'object' ? typesOf(each) : [])),
    ...[...(values ?? []), only].map((value) => typeof value),
  ]
  const types = typesOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  return [null, ...Object.entries(empty).flatMap(([type, value]) => (types.includes(type) ? [value] : []))]
}

const isOptional = ({ schema }: Field) => schema.safeParse(undefined).success

suite('Empty fields of a request', () => {
  const fields = bodies.flatMap(({ schema, id }) => fieldsIn(schema, id))
  const optional = [...new Map(fields.filter(isOptional).map((field) => [field.path, field])).values()]

  test('count as absent in every optional field of every body, but in those that are listed here', () => {
    assert.ok(optional.length > 200)
    const kept = optional.filter(({ name, schema, within }) =>
      emptyValuesOf(schema).some((value) => Object.hasOwn(withoutEmpty(within, { [name]: value }) as object, name)),
    )
    assert.deepEqual(kept.map(({ path }) => path).toSorted(), meaningful)
  })

  for (const [route, { body }] of Object.entries(examples as Record<string, { body?: object }>)) {
    const schema = bodies.find((each) => each.route === route)?.schema
    if (!body || !(schema instanceof z.ZodObject)) continue
    test(`in ${route} change nothing of the parsed request`, () => {
      const absent = validateBody(schema, body)
      for (const [name, each] of Object.entries(schema.shape)) {
        const [field] = optional.filter((one) => one.within === schema && one.name === name)
        if (!field || Object.hasOwn(body, name) || meaningful.includes(field.path)) continue
        for (const value of emptyValuesOf(each as z.ZodType))
          assert.deepEqual(validateBody(schema, { ...body, [name]: value }), absent, name)
      }
    })
  }

  const Item = z.strictObject({ name: z.string().optional(), tags: z.array(z.string()).nullish(), text: z.string() })
  const Body = z.strictObject({
    items: z.array(Item),
    choice: z.union([z.string(), Item]).nullish(),
    map: z.record(z.string(), Item).nullish(),
    pairs: z.record(z.string(), z.unknown()).nullish(),
    kept: keepsEmpty(z.string().nullish()),
    count: z.int().nullish(),
    unset: z.null().optional(),
  })

  test('are left out at any depth, in lists, maps and alternatives', () => {
    const item = { name: '', tags: [], text: '' }
    const body = { items: [item, item], choice: item, map: { a: item }, pairs: { a: null, b: '', c: [], d: {} } }
    const left = { text: '' }
    assert.deepEqual(withoutEmpty(Body, body), { ...body, items: [left, left], choice: left, map: { a: left } })
  })

  test('leave an object empty, which is then left out itself', () => {
    const Outer = z.object({ inner: z.object({ name: z.string().nullish() }).nullish() })
    assert.deepEqual(withoutEmpty(Outer, { inner: { name: '' } }), {})
  })

  test('are lists for maps and maps for lists, as PHP and Lua write them', () => {
    assert.deepEqual(withoutEmpty(Body, { items: [], pairs: [] }), { items: [] })
    assert.deepEqual(withoutEmpty(Item, { text: 'a', tags: {} }), { text: 'a' })
  })

  test('stay where they are of another type, are required, are marked or are unknown, unless they are null there', () => {
    const body = { items: [], count: '', kept: '', other: {} }
    assert.equal(withoutEmpty(Body, body), body)
    assert.deepEqual(withoutEmpty(Body, { items: null, other: null, unset: {} }), { items: null })
  })

  test('cost no copy of a body that has none', () => {
    const body = { items: [{ text: 'a' }], choice: { text: 'a' }, map: { a: { text: 'a' } } }
    assert.equal(withoutEmpty(Body, body), body)
  })

  const refused = (body: object, schema: z.ZodType = Body, options = {}) => {
    try {
      validateBody(schema, body, options)
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  test('are not looked for in every item of a list that is too long', () => {
    const few = z.object({ items: z.array(Item).min(1).max(3) })
    const items = Array.from({ length: 5 }, () => ({ name: '', text: 'a' }))
    assert.deepEqual(withoutEmpty(few, { items }), { items: items.slice(0, 4).map(({ text }) => ({ text })) })
    assert.equal(refused({ items }, few), 'items must have at most 3 items.')
  })

  test('report the first problem only, when asked to', () => {
    const body = { items: [{ text: 'a' }, { text: 1, name: 2 }, { text: 3 }], map: { a: { text: 4 } } }
    assert.match(refused(body) ?? '', /^items\[1\]\.name must be a string\. \(3 more problems/)
    assert.equal(refused(body, Body, { firstProblemOnly: true }), 'items[1].name must be a string.')
  })

  test('keep the problem that the sentence names', () => {
    assert.equal(refused({ items: [], choice: { text: 5, name: '' } }), 'choice.text must be a string.')
    assert.equal(refused({ items: '', map: {} }), 'items must be a list.')
  })
})
