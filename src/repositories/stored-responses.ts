import type { Connection } from './connection.ts'

/** `response` is as it was answered; `conversation` holds its input, its output and all before them. */
export type StoredResponse = { conversation: unknown[]; response: unknown }
type Place = { accountId: string; id: string }
type Limits = { responses: number; bytes: number }

export const createStoredResponseRepository = (db: Connection) => ({
  /** Makes room first: the account's oldest responses go. One that is larger than the limit of bytes is kept alone. */
  async add({ accountId, id }: Place, { conversation, response }: StoredResponse, limits: Limits) {
    const texts = [JSON.stringify(conversation), JSON.stringify(response)] as const
    const sizeBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    await db.$executeRaw`
      with kept as (
        select id, row_number() over newest as place, sum(size_bytes) over newest as bytes
        from stored_responses where account_id = ${accountId}::uuid
        window newest as (order by created_at desc, id desc)),
      gone as (
        delete from stored_responses where id in (
          select id from kept where place >= ${limits.responses} or bytes > ${limits.bytes - sizeBytes}))
      insert into stored_responses (id, account_id, conversation, response, size_bytes)
      values (${id}::uuid, ${accountId}::uuid, ${texts[0]}, ${texts[1]}, ${sizeBytes})`
  },

  async keptOf(accountId: string): Promise<{ count: number; bytes: number }> {
    const [row] = await db.$queryRaw<[{ count: number; bytes: number }]>`
      select count(*)::int as count, coalesce(sum(size_bytes), 0)::float8 as bytes
      from stored_responses where account_id = ${accountId}::uuid`
    return row
  },

  async find({ accountId, id }: Place): Promise<StoredResponse | null> {
    const row = await db.storedResponse.findFirst({ where: { id, accountId } })
    return row && { conversation: JSON.parse(row.conversation) as unknown[], response: JSON.parse(row.response) }
  },

  /** @returns false when there is none */
  async remove({ accountId, id }: Place): Promise<boolean> {
    return (await db.storedResponse.deleteMany({ where: { id, accountId } })).count > 0
  },
})
