// Sends to every route of the OpenAPI document, aliases included: a valid request, the same with nulls, an invalid one, and
// another account's request for the same objects. Checks each answer against the document and prints the table.
// `npm run examples` lets it record the examples of the document.
// test/http/openapi.test.ts proves that every route asks for a key and its scope.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import examples from '../../src/http/examples.json' with { type: 'json' }
import { scopes } from '../../src/domain/scopes.ts'
import { createOperator } from '../support/operator.ts'
import { createApi, type Api } from '../support/stack.ts'
import { entries, type Entry, type Sent } from './route-matrix/entries.ts'
import { shownAnswer, shownRequest, writeExamples, type Example } from './route-matrix/example.ts'
import { madeUpNames, ownedNames, withoutNames } from './route-matrix/names.ts'

type Content = { 'application/json': { schema: { $ref: string } } }
type Operation = { operationId: string; security: unknown[]; requestBody?: { content: Partial<Content> } }
type Schema = { properties: Record<string, unknown>; required?: string[] }
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
type Route = { method: string; path: string; name: string; optional: string[] }

suite('the matrix of routes', async () => {
  const operator = createOperator()
  const owner = createApi((await (await operator.openAccount()).makeKey([...scopes])).key)
  /** A new one each time: what he made before would be his own. */
  const stranger = async () => createApi((await (await operator.openAccount()).makeKey([...scopes])).key)

  const routes = await readRoutes(owner)
  const owned = await ownedNames(owner)
  const madeUp = madeUpNames(owned)
  const table: string[][] = [['route', 'success', 'with nulls', 'invalid', "another account's"]]
  after(() => console.log(printed(table)))
  const isRecording = process.env['ANNEAL_RECORD_EXAMPLES'] === '1'
  const recorded: Record<string, Example> = {}
  if (isRecording) after(() => writeExamples(recorded))

  test('has an entry for every route, and no other', () => {
    assert.deepEqual(Object.keys(entries).toSorted(), [...new Set(routes.map(({ name }) => name))].toSorted())
  })

  for (const [name, entry] of Object.entries(entries))
    for (const route of routes.filter((each) => each.name === name))
      test(`${route.method} ${route.path}`, async () => {
        const right = (await entry.about[0]?.(owned)) ?? assert.fail('no right request')
        // Whatever is refused comes first: a right request may leave nothing to be refused.
        const cells = [await invalid(route, entry), await foreign(route, entry)]
        const body = await accepted(route, right)
        if (isRecording) recorded[name] ??= { ...(await shownRequest(entry)), answer: shownAnswer(body, owned) }
        table.push([`${route.method} ${route.path}`, '200', await withNulls(route, right), ...cells])
      })

  // The matrix sends the same requests, with the names of real objects.
  for (const [name, entry] of Object.entries(isRecording ? {} : entries))
    test(`the example of ${name} is a request that the service accepts`, async () => {
      const { answer: _answer, ...request } = (examples as Record<string, Example>)[name] ?? assert.fail(missing)
      assert.deepEqual(request, JSON.parse(JSON.stringify(await shownRequest(entry))), missing)
    })

  /** Null is the same as nothing, for every optional field of the document. */
  async function withNulls(route: Route, right: Sent): Promise<string> {
    const nulls = Object.fromEntries(route.optional.map((name) => [name, null]))
    if (route.optional.length === 0) return '- (no optional field)'
    await accepted(route, { ...right, body: { ...nulls, ...(right.body as object) } })
    return '200'
  }

  async function accepted(route: Route, sent: Sent): Promise<unknown> {
    const { status, body } = await ask(owner, route, sent)
    assert.equal(status, 200, JSON.stringify(body))
    // A job that nobody asks for again would train beside the other tests.
    if (startsJob.includes(route.name)) {
      const { job_id: id = (body as { id: string }).id.replace('ftjob-', '') } = body as { job_id?: string }
      await owner.post(`/v1/train/jobs/${id}/cancel`)
    }
    return body
  }

  async function invalid(route: Route, { invalid: wrong }: Entry): Promise<string> {
    if ('notApplicable' in wrong) return `- (${wrong.notApplicable})`
    const { status, body } = await ask(owner, route, wrong.sent(owned))
    assert.equal(status, wrong.status, JSON.stringify(body))
    const { errors, error } = body as { errors?: unknown[]; error?: { param: string | null } }
    if (status === 400) assert.ok(errors?.length || error?.param, 'a 400 names what is wrong')
    return String(status)
  }

  /** Another account's objects get the same answer as objects that do not exist. */
  async function foreign(route: Route, { about, foreign: shows }: Entry): Promise<string> {
    if (typeof shows === 'object') return `- (${shows.notApplicable})`
    const statuses: number[] = []
    for (const request of about) {
      const theirs = await ask(await stranger(), route, await request(owned))
      if (shows === 'lists') showsNothing(theirs.body)
      statuses.push(theirs.status)
      if (request.length === 0) continue
      const nobodys = await ask(await stranger(), route, await request(madeUp))
      assert.deepEqual(
        [theirs.status, withoutNames(theirs.body, owned), headerNames(theirs)],
        [nobodys.status, withoutNames(nobodys.body, madeUp), headerNames(nobodys)],
      )
    }
    return `${[...new Set(statuses)].join(', ')} ${shows === 'lists' ? '(nothing of it shows)' : "(as nobody's)"}`
  }

  function showsNothing(body: unknown) {
    const text = JSON.stringify(body)
    for (const name of Object.values(owned)) {
      // The number of a job is also that of a model, a part of an address or of a region.
      const isJob = typeof name === 'number'
      const shown = isJob ? `"(job_id|id)":"?(ftjob-)?${name}"?[,}]` : `\\b${RegExp.escape(String(name))}\\b`
      assert.ok(!new RegExp(shown).test(text), `${name} shows in ${text}`)
    }
  }
})

const startsJob = ['train', 'openai_create_fine_tuning_job']
const missing = 'the examples of the document are older than the matrix: npm run examples writes them again'

async function readRoutes(api: Api): Promise<Route[]> {
  const { paths, components } = await api.get<Document>('/openapi.json')
  const optionalOf = ({ requestBody }: Operation) => {
    const id = requestBody?.content['application/json']?.schema.$ref.split('/').at(-1)
    const { properties = {}, required = [] } = id === undefined ? {} : (components.schemas[id] ?? assert.fail(id))
    return Object.keys(properties).filter((name) => !required.includes(name))
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      name: operation.operationId.replace(/_alias_\d+$/, ''),
      optional: optionalOf(operation),
    })),
  )
}

function ask(api: Api, { method, path }: Route, { params = {}, query, body }: Sent) {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(params[name] ?? assert.fail(name)))
  return api.request(method, query === undefined ? filled : `${filled}?${query}`, body)
}

const headerNames = ({ headers }: { headers: Headers }) => [...headers.keys()].toSorted()

function printed(table: readonly string[][]): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}
