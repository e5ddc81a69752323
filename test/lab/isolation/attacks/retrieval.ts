import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import type { Attack } from '../attack.ts'
import { completion, jobList, readiness } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 20
const rows = 500_000
/** So many different vectors: making half a million would take minutes. */
const vectors = 1000

export const retrieval: Attack = {
  name: 'retrieval',
  what: 'twenty connections ask for completions with an id under which 500,000 rows are stored',
  seconds: 45,
  async prepare({ connection, attacker }) {
    const id = `many-rows-${randomUUID()}`
    await insertRows(connection.databaseUrl, { accountId: attacker.id, collection: id, count: rows })
    return { ids: [id] }
  },
  probes: (stage) => [completion(stage), jobList(stage), readiness(stage)],
  async run({ baseModel, prepared, signal, ask, underway }) {
    setTimeout(underway, 1000)
    await keepAsking(connections, signal, (connection, turn) =>
      ask('POST', '/v1/completions', {
        model_name: baseModel,
        id: prepared['ids']?.[0],
        prompt: `What is the colour of product ${connection * 1000 + turn}?`,
        max_tokens: 1,
      }),
    )
  },
}

/** Writes rows with their embeddings straight into the table; by the API it would take hours. */
async function insertRows(
  databaseUrl: string,
  { accountId, collection, count }: { accountId: string; collection: string; count: number },
) {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(
      `with base as materialized (
         select turn, array_agg((random() - 0.5)::real)::vector(384) as vector
         from generate_series(0, ${vectors - 1}) turn, generate_series(1, 384) group by turn)
       insert into stored_rows (id, account_id, collection, row_hash, row, text, embedding)
       select gen_random_uuid(), $1::uuid, $2, decode(md5(number::text), 'hex'),
         jsonb_build_object('fact', jsonb_build_object('text', 'Product ' || number || ' is red.')),
         'Product ' || number || ' is red.', base.vector
       from generate_series(1, $3::int) number join base on base.turn = number % ${vectors}`,
      [accountId, collection, count],
    )
    await client.query('analyze stored_rows')
  } finally {
    await client.end()
  }
}
