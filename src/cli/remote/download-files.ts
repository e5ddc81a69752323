// Downloads files by links that need no key. A file gets its name once its hash is right, and a repeat goes on where it was.
import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { get as getByHttp, type IncomingMessage } from 'node:http'
import { get as getByHttps } from 'node:https'
import { dirname, join, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, exitCodes } from '../command-error.ts'

export type LinkedFile = { name: string; url: string; sha256: string; sizeBytes: number }
export type DownloadedFile = Omit<LinkedFile, 'url'> & { path: string }

type DownloadOptions = {
  folder: string
  /** Asks the service again, because links expire. */
  linksOf: () => Promise<LinkedFile[]>
  /** Whether the file that is there is an earlier one, which the new one replaces. Other files are left as they are. */
  isEarlier?: (there: DownloadedFile) => boolean
  say: (line: string) => void
  signal: AbortSignal
}

const mostTries = 5
const pauseMs = 1000

/** @throws CommandError when a file cannot be had whole, or another file of its name is there */
export async function downloadFiles({
  folder,
  linksOf,
  isEarlier = () => false,
  say,
  signal,
}: DownloadOptions): Promise<DownloadedFile[]> {
  const files = (await linksOf()).map((file) => ({ ...file, path: pathIn(folder, file.name) }))
  for (const [index, { url, ...file }] of files.entries()) {
    if (await isThere(file, isEarlier)) say(`${file.name} is there already.`)
    else {
      say(`${file.name}, ${file.sizeBytes} bytes (${index + 1} of ${files.length})`)
      await download(file, { url, linksOf, signal })
    }
  }
  return files.map(({ url: _url, ...file }) => file)
}

/** Downloads a file whose hash nobody knows yet. @throws CommandError when it cannot be had whole */
export async function fetchWhole(
  path: string,
  { sizeBytes, linkOf, signal }: { sizeBytes: number; linkOf: () => Promise<string>; signal: AbortSignal },
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  // A killed download may have left other bytes, and no hash would tell.
  const part = `${path}.part`
  rmSync(part, { force: true })
  if (sizeBytes === 0) return writeFileSync(path, '')
  for (let tries = 1; ; tries += 1) {
    const refusal = await fetchRest(part, { link: await linkOf(), sizeBytes, signal })
    if (refusal === null) break
    if (tries === mostTries)
      throw new CommandError(`${path} could not be downloaded: ${refusal}. Repeat the command.`, exitCodes.unreachable)
    await sleep(pauseMs * tries, undefined, { signal })
  }
  renameSync(part, path)
}

type Source = { url: string; linksOf: DownloadOptions['linksOf']; signal: AbortSignal }

async function download(file: DownloadedFile, { url, linksOf, signal }: Source): Promise<void> {
  mkdirSync(dirname(file.path), { recursive: true })
  // The hash in its name keeps the rest of another version from being continued.
  const part = `${file.path}.${file.sha256.slice(0, 12)}.part`
  for (let [link, tries] = [url, 1]; ; tries += 1) {
    const refusal = await fetchRest(part, { link, sizeBytes: file.sizeBytes, signal })
    if (refusal === null) break
    if (tries === mostTries)
      throw new CommandError(
        `${file.name} could not be downloaded: ${refusal}. Repeat the command: what has come so far is kept.`,
        exitCodes.unreachable,
      )
    await sleep(pauseMs * tries, undefined, { signal })
    link = (await linksOf()).find(({ name }) => name === file.name)?.url ?? link
  }
  if ((await hashOf(part)) !== file.sha256) {
    rmSync(part)
    throw new CommandError(`${file.name} came with a wrong hash, so it was removed. Repeat the command.`)
  }
  renameSync(part, file.path)
}

/** @returns why the part is still not whole, or null once it is */
async function fetchRest(
  part: string,
  { link, sizeBytes, signal }: { link: string; sizeBytes: number; signal: AbortSignal },
): Promise<string | null> {
  const begin = sizeOf(part)
  if (begin === sizeBytes && begin > 0) return null
  try {
    const headers: Record<string, string> = begin > 0 && begin < sizeBytes ? { Range: `bytes=${begin}-` } : {}
    const response = await open(link, { headers, signal })
    const { statusCode: status } = response
    if (status !== 200 && status !== 206) {
      response.destroy()
      return `the store answered ${status}`
    }
    // A store that knows no ranges sends the whole file.
    await pipeline(response, createWriteStream(part, { flags: status === 206 ? 'a' : 'w' }), { signal })
  } catch (error) {
    if (signal.aborted || isFromDisk(error)) throw error
    return 'the connection broke'
  }
  return sizeOf(part) === sizeBytes ? null : 'it ended too early'
}

/** Without fetch: in Node 24 it ends the process if a store closes the connection while the disk is slower than the network. */
async function open(
  link: string,
  options: { headers: Record<string, string>; signal: AbortSignal },
): Promise<IncomingMessage> {
  const request = (link.startsWith('https:') ? getByHttps : getByHttp)(link, options)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** Errors of the disk have a path; errors of the network have none. */
const isFromDisk = (error: unknown) => (error as NodeJS.ErrnoException).path !== undefined

async function isThere(file: DownloadedFile, isEarlier: (there: DownloadedFile) => boolean): Promise<boolean> {
  const { path, name, sha256, sizeBytes } = file
  if (!statSync(path, { throwIfNoEntry: false })) return false
  if (sizeOf(path) === sizeBytes && (await hashOf(path)) === sha256) return true
  if (isEarlier(file)) return false
  throw new CommandError(`${path} is another file than ${name} of this model. Choose an empty folder.`)
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function hashOf(path: string): Promise<string> {
  const hash: Hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** A name may have folders, but must not lead out of the folder. */
function pathIn(folder: string, name: string): string {
  const path = join(folder, name)
  if (!path.startsWith(folder + sep))
    throw new CommandError(`The service named a file "${name}", which is no file name.`)
  return path
}
