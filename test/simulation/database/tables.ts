// The tables: what names a row, what is unique, what a new row begins with.
import { DatabaseError, type Row, type Session } from './rows.ts'

/** The first names the row. */
const uniqueKeys: Record<string, string[][]> = {
  account: [['id']],
  artifact: [['id']],
  attempt: [['id'], ['jobId', 'number'], ['jobId', 'generation', 'ordinal']],
  datasetVersion: [['id']],
  evaluation: [['artifactId', 'index']],
  idempotencyKey: [['accountId', 'key']],
  jobEvent: [['id']],
  model: [['name'], ['artifactId']],
  modelServer: [['baseModel']],
  outboxMessage: [['id']],
  trainingJob: [['id']],
  trainingStep: [['jobId', 'step']],
  usageDay: [['accountId', 'day', 'apiKeyId', 'model']],
}

export const tableNames = Object.keys(uniqueKeys)

const sequenceKeys = ['jobEvent', 'outboxMessage']

/** `now` is when the transaction began. */
const defaults: Record<string, (now: Date) => Row> = {
  artifact: (createdAt) => ({ createdAt, ...nulls('committedAt verifiedAt corruptAt') }),
  attempt: (createdAt) => ({
    ...nulls('runUid claimId phase fromArtifactId lastStep reportedCause cause exitCode message grantedAt claimedAt'),
    ...nulls('heardAt endedAt fencedAt releasedAt workingAt savedStep savedAt fromAt'),
    fromStep: 0,
    createdAt,
  }),
  jobEvent: (at) => ({ ...nulls('status attempt reason message'), at }),
  model: (createdAt) => ({ createdAt }),
  outboxMessage: (now) => ({
    ...nulls('lastError deliveredAt'),
    ...{ createdAt: now, claimedUntil: now },
    deliveryCount: 0,
  }),
}

const nulls = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, null]))

export const keyOf = (table: string, row: Row, fields = uniqueKeys[table]?.[0] ?? []) =>
  fields.map((field) => String(row[field])).join('/')

export async function insert(session: Session, table: string, data: Row): Promise<Row> {
  const row: Row = { ...defaults[table]?.(new Date(session.nowMs)), ...data }
  if (sequenceKeys.includes(table)) row['id'] = BigInt(session.next(table))
  for (const fields of uniqueKeys[table] ?? []) {
    // As an index does: whoever inserts the same key meanwhile is waited for.
    await session.lock(`${table} ${fields.join()}`, keyOf(table, row, fields))
    const same = session.all(table, (other) => fields.every((field) => String(other[field]) === String(row[field])))
    if (same.length > 0) throw new DatabaseError('P2002', `${table}: ${fields.join()} is taken`)
  }
  session.put(table, keyOf(table, row), row)
  return row
}
