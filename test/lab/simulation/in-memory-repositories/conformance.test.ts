import assert from 'node:assert/strict'
import { after, mock, suite, test } from 'node:test'
import type { Database } from '../../../../src/repositories/database.ts'
import { createInMemoryDatabase, inMemoryRepositories } from './database.ts'
import { Tables } from './transactions.ts'
import { cases } from '../../../repositories/conformance/cases.ts'
import { setProcessClock, start } from '../../../repositories/conformance/subject.ts'

suite('the repositories in memory', () => {
  after(() => mock.timers.reset())
  const called = new Set<string>()

  for (const [name, run] of Object.entries(cases))
    test(name, async () => {
      const heard = new Set<string>()
      const tables = new Tables({ onNotify: (channel) => heard.add(channel) })
      setProcessClock(start)
      await run({
        database: noting(called, createInMemoryDatabase(tables)),
        setNow: async (at) => setProcessClock(at),
        heard: async () => {
          const channels = [...heard]
          heard.clear()
          return channels
        },
      })
    })

  test('have a case for each of their methods', () => {
    const unused = { run: () => assert.fail('nothing is sent') }
    const methods = Object.entries(inMemoryRepositories).flatMap(([name, create]) =>
      Object.keys(create(unused)).map((method) => `${name}.${method}`),
    )
    assert.deepEqual(
      methods.filter((name) => !called.has(name)),
      [],
    )
  })
})

/** Notes which methods are taken from its repositories, within transactions also. */
function noting(called: Set<string>, database: Database): Database {
  const note = <T extends object>(repositories: T): T =>
    new Proxy(repositories, {
      get(target, name: string) {
        const repository = target[name as keyof T]
        if (name === 'transaction')
          return (work: (tx: object) => unknown) => database.transaction(async (tx) => work(note(tx)))
        if (!(name in inMemoryRepositories)) return repository
        return new Proxy(repository as object, {
          get(methods, method: string) {
            called.add(`${name}.${method}`)
            return methods[method as keyof object]
          },
        })
      },
    })
  return note(database)
}
