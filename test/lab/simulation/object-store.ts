// The object store of a schedule. A URL is its key; the contents are short texts.
import { createHash } from 'node:crypto'
import type { Storage } from '../../../src/storage/storage.ts'
import type { Faults } from './faults.ts'

export const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex')

export function createObjectStore(faults: Faults) {
  const objects = new Map<string, string>()
  const through = <T>(operation: string, effect: () => T) => faults.through('store', `store.${operation}`, effect)
  const sign = (key: string) => Promise.resolve(key)
  const verbs = {
    bucket: 'bucket',
    urlPrefix: 'http://store/bucket/',
    partBytes: 2 ** 30,
    presignPodPut: sign,
    presignPodGet: sign,
    stat: (key: string) =>
      through('stat', () => {
        const text = objects.get(key)
        return text === undefined ? null : { sizeBytes: text.length, etag: sha256Of(text) }
      }),
    sha256: (key: string) =>
      through('sha256', () => {
        const text = objects.get(key)
        return text === undefined ? null : { sizeBytes: text.length, sha256: sha256Of(text) }
      }),
    copy: (from: string, to: string) =>
      through('copy', () => {
        const text = objects.get(from)
        if (text !== undefined) objects.set(to, text)
      }),
    write: (key: string, body: Buffer) => through('write', () => void objects.set(key, body.toString())),
    put: (key: string, text: string) => through('put', () => void objects.set(key, text)),
    get: (key: string) => through('get', () => objects.get(key) ?? null),
  }
  // The simulated services use only these; any other member is undefined and fails the schedule.
  return { storage: verbs as unknown as Storage & Pick<typeof verbs, 'put' | 'get'>, objects }
}

export type ObjectStore = ReturnType<typeof createObjectStore>
