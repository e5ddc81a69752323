// What is there before the first request: two accounts, each with an uploaded data set.
import type { Rows } from './database/rows.ts'
import type { ObjectStore } from './object-store.ts'

export const accounts = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
export const datasetKey = (accountId: string) => `uploads/${accountId}/data/${accountId}`

export function seedRows(rows: Rows, store: ObjectStore) {
  for (const id of accounts) {
    rows.table('account').set(id, { id, name: 'a', priority: 'normal', createdAt: new Date() })
    const version = { id, accountId: id, datasetId: 'data', version: 1, uploadKey: datasetKey(id), announcedRows: null }
    rows.table('datasetVersion').set(id, { ...version, usedAt: null, sizeBytes: null, report: null })
    store.objects.set(datasetKey(id), 'rows')
  }
}
