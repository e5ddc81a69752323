// The rows that exist before the first request: two accounts, each with an uploaded data set.
import type { Tables } from './in-memory-repositories/transactions.ts'
import type { ObjectStore } from './object-store.ts'

export const accounts = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
export const datasetKey = (accountId: string) => `uploads/${accountId}/data/${accountId}`

export const datasetVersion = (accountId: string) => ({
  id: accountId,
  accountId,
  datasetId: 'data',
  version: 1,
  uploadKey: datasetKey(accountId),
})

export function seedRows(tables: Tables, store: ObjectStore) {
  for (const id of accounts) {
    tables.of('account').set(id, { id, name: 'a', priority: 'normal', createdAt: new Date() })
    const empty = { announcedRows: null, usedAt: null, sizeBytes: null, report: null }
    tables.of('datasetVersion').set(id, { ...datasetVersion(id), ...empty })
    store.objects.set(datasetKey(id), 'rows')
  }
}
