import { keysetPages } from '../../../../src/repositories/keyset-pages.ts'
import type { Connection, InMemory } from './database.ts'

/** There is no durable work but jobs here. */
export const durableWork = (db: Connection): InMemory<'durableWork'> => ({
  started: (kind, pageSize?: number) =>
    keysetPages({ id: '' }, pageSize ?? 1000, () =>
      db.run(`durableWork.started, ${kind}`, () => [] as { id: string }[]),
    ),
})
