// Holds answers against the OpenAPI document that the service itself publishes: the status, the type, every field.
import assert from 'node:assert/strict'
import { z } from 'zod'

type Json = Record<string, unknown>
type Operation = { responses: Record<string, { content: Record<string, { schema: Json }> }> }
type OpenApi = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Json> } }

type Answered = { method: string; path: string; status: number; contentType: string; body: unknown }

/** Throws when an answer is not one that the document promises. */
export function createContract(document: unknown) {
  const { paths, components } = document as OpenApi
  const served = Object.entries(paths).map(([path, methods]) => ({
    // A slash at the end makes no difference.
    pattern: new RegExp(
      `^${path
        .replace(/\/$/, '')
        .replaceAll('.', '\\.')
        .replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
    ),
    // What is literal in a path comes before what is a parameter: /jobs/cancel, then /jobs/{job_id}.
    parameters: path.split('{').length,
    methods,
  }))
  const definitions = rename(components.schemas) as Record<string, Json>
  const schemas = new Map<string, z.ZodType>()

  return ({ method, path, status, contentType, body }: Answered) => {
    const [pathname = ''] = path.split('?')
    const where = `${method} ${pathname} answered ${status}`
    const matching = served
      .filter(({ pattern }) => pattern.test(pathname))
      .toSorted((a, b) => a.parameters - b.parameters)
    const operation = matching.find(({ methods }) => method.toLowerCase() in methods)?.methods[method.toLowerCase()]
    // No route at all: a problem of the edge itself.
    const isOpenAi = pathname.startsWith('/openai/')
    const response = operation
      ? (operation.responses[status] ??
        assert.fail(`${where}, which its document does not name: ${JSON.stringify(body)}`))
      : isOpenAi
        ? { content: { 'application/json': { schema: { $ref: '#/components/schemas/OpenAiError' } } } }
        : { content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } }
    const types = Object.keys(response.content)
    const type = types.find((each) => contentType.startsWith(each))
    assert.ok(type !== undefined, `${where} as ${contentType}, not ${types.join(' or ')}`)
    // Bytes and events are anything.
    if (!type.includes('json')) return
    const { schema } = response.content[type] ?? { schema: {} }
    const parsed = schemaOf(schema).safeParse(body)
    if (!parsed.success)
      assert.fail(`${where} unlike its document: ${z.prettifyError(parsed.error)}\n${JSON.stringify(body)}`)
  }

  function schemaOf(schema: Json): z.ZodType {
    const key = JSON.stringify(schema)
    const known = schemas.get(key)
    if (known) return known
    const made = z.fromJSONSchema({ ...(rename(schema) as Json), $defs: definitions } as never)
    schemas.set(key, made)
    return made
  }
}

/** References as zod reads them, and objects closed: a field that the document does not name is a fault, too. */
function rename(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rename)
  if (typeof value === 'string') return value.replace('#/components/schemas/', '#/$defs/')
  if (typeof value !== 'object' || value === null) return value
  const object = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rename(inner)]))
  const isClosable = object['type'] === 'object' && 'properties' in object && !('additionalProperties' in object)
  return isClosable ? { ...object, additionalProperties: false } : object
}
