import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { publicRoutes } from '../../../../src/http/app.ts'
import type { Route } from '../../../../src/http/kit/route.ts'
import { extremes } from './table.ts'

const hasFields = (schema: z.ZodType | undefined) =>
  schema !== undefined && !(schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0)

/** Routes that take no more than an id cannot be asked for much. */
const takesMuch = ({ body, rows, form, query }: Route) => hasFields(body) || rows || form || hasFields(query)

test('each route that takes a body, rows, a file or a query has an extreme request', () => {
  const without = publicRoutes.filter((route) => takesMuch(route) && !extremes[route.name]?.length)
  assert.deepEqual(
    without.map(({ name }) => name),
    [],
    'Add the largest requests that these routes take to test/lab/isolation/single-requests.',
  )
})

test('each extreme request belongs to a route and has a name of its own', () => {
  const names = publicRoutes.map(({ name }) => name)
  for (const [route, each] of Object.entries(extremes)) {
    assert.ok(names.includes(route), route)
    const whats = each.map(({ what }) => what)
    assert.deepEqual(whats, [...new Set(whats)], route)
  }
})
