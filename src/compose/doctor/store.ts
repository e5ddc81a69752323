import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { failed, ok, warning, type Finding, type Verdict } from '../../domain/finding.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { within } from '../../services/health/within.ts'
import { readInstallation } from '../../../activities/installation-mark.ts'
import type { Storage } from '../../storage/storage.ts'
import type { ClockReading } from './clocks.ts'
import { reasonOf, runCheck } from './run-check.ts'

const urlTimeoutMs = 10_000
const content = Buffer.from('anneal doctor')

const rights =
  'Check S3_ENDPOINT, S3_BUCKET and the credentials. They need to list the bucket, and to get, put and delete its objects.'

/** `readId`: the id of the database. */
export async function checkStore(storage: Storage, readId: () => Promise<string>) {
  const clock: ClockReading = { of: 'object store', aheadMs: null }
  // Below a folder that the sweep empties, should this process be killed.
  const key = `${storageKeys.uploads}doctor/${randomUUID()}`
  const works = await runCheck('object store', rights, () => useObject(storage, key))
  const findings = [works]
  if (works.state !== 'failed') {
    clock.aheadMs = storage.now().getTime() - Date.now()
    findings.push(...(await checkUrls(storage, key)), await checkPair(storage, readId))
  }
  // A store that is silent here would keep the other findings back.
  await within(urlTimeoutMs, () => storage.remove([key])).catch(() => undefined)
  return { findings, clock }
}

/** Leaves the object for the check of URLs. */
async function useObject(storage: Storage, key: string): Promise<Verdict> {
  await step('write', () => storage.write(key, content))
  const body = await step('read', () => storage.read(key))
  if (!body || !(await buffer(body)).equals(content))
    return failed('gives back other bytes than were written', 'Use a store with strong consistency.')
  const listed = await step('list', () => storage.pages(key).next())
  if (listed.done || !listed.value.some((each) => each.key === key))
    return failed('does not list an object that was just written', 'Use a store with strong consistency.')
  const copy = `${key}-copy`
  await step('copy', () => storage.copy(key, copy))
  await step('delete', () => storage.remove([copy]))
  if (await storage.stat(copy)) return failed('does not delete', rights)
  await step('write where nothing is', () => storage.writeIfAbsent(key, Buffer.from('other')))
  if ((await storage.stat(key))?.sizeBytes !== content.length)
    return failed('overwrites in spite of If-None-Match', 'Use a release of the store that keeps If-None-Match: *.')
  return ok(`writes, reads, lists, copies and deletes in the bucket ${storage.bucket}`)
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOf(error)
    throw new Error(`refuses to ${what}: ${/<Message>([^<]+)</.exec(reason)?.[1] ?? reason}`)
  }
}

/** The URL itself is in no message: it opens the object. */
async function checkUrls(storage: Storage, key: string): Promise<Finding[]> {
  const own = await storage.presignPodGet(key)
  const ofUsers = await storage.presignDownload(key)
  const urls = [await runCheck('signed URLs of pods', 'Check S3_ENDPOINT.', () => opens(own, failed))]
  // The address of users need not be reached from within.
  if (new URL(ofUsers).origin !== new URL(own).origin)
    urls.push(await runCheck('signed URLs of users', 'Check S3_PUBLIC_ENDPOINT.', () => opens(ofUsers, warning)))
  return urls
}

async function opens(url: string, judge: typeof failed): Promise<Verdict> {
  const { origin } = new URL(url)
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(urlTimeoutMs) })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (answer.ok && bytes.equals(content)) return ok(`open at ${origin}`)
    return failed(
      `${origin} answers a signed URL with status ${answer.status}`,
      'A proxy before the store must keep host and path as they were signed.',
    )
  } catch (error) {
    return judge(`${origin} is not reached from here: ${reasonOf(error)}`, 'Open a download from where the users are.')
  }
}

const checkPair = (storage: Storage, readId: () => Promise<string>) =>
  runCheck('bucket and database', 'Mend the database first.', async () => {
    const [id, ofBucket] = await Promise.all([readId(), readInstallation(storage)])
    if (ofBucket === id) return ok(`both belong to installation ${id}`)
    const next = 'Check DATABASE_URL and S3_BUCKET. If both are right: docs/operations.md, "A refused sweep".'
    if (ofBucket !== null) return failed(`the bucket belongs to installation ${ofBucket}, the database to ${id}`, next)
    return warning(
      `the bucket has no mark, so nothing says whether it belongs to installation ${id}`,
      'If the bucket is empty, restart the api, which marks it. Else wait for the daily sweep: it writes the mark once it finds objects that the database names.',
    )
  })
