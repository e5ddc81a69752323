// Contexts of service calls whose dependencies are doubles.
import assert from 'node:assert/strict'
import type { AdminCtx, Ctx, PodCtx } from '../../src/services/context.ts'

type AnyCtx = Ctx | AdminCtx | PodCtx
type Callers<C> = { [Field in keyof Omit<C, 'deps'>]?: C[Field] | undefined }

/**
 * A context with only the dependencies that the tested verbs use, each only in part. A verb that uses another dependency fails
 * with its name, so the cast hides nothing from the test.
 */
export function contextOf<C extends AnyCtx = Ctx>(given: { deps: object } & Callers<C>): C {
  const deps = new Proxy(given.deps, {
    get(target, name) {
      if (typeof name === 'string' && !(name in target)) assert.fail(`The test gives the verb no ${name}.`)
      return Reflect.get(target, name) as unknown
    },
  })
  return { apiKeyId: 'none', origin: { requestId: 'test', address: '::1' }, ...given, deps } as unknown as C
}
