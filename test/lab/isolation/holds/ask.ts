// Asks the processes of a stack that was started with watch.ts for the longest hold of their event loops.
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { untilSucceeds } from '../../../support/eventually.ts'
import { serviceDefaults } from '../../../../src/embedded/services.ts'
import { socketName } from './socket-name.ts'

/** The longest turn of an event loop, and the functions that ran in it with their share of the samples. */
export type Hold = { ms: number; functions: string[] }
export type HoldOfProcess = Hold & { process: string }

const watched = ['api', 'worker'] as const
/** A process whose loop is held for so long does not answer. */
const answerMs = 60_000

const module = pathToFileURL(join(import.meta.dirname, 'watch.ts')).href
/** Settings of a stack that measures its holds. */
export const holdSettings = { NODE_OPTIONS: `${serviceDefaults.NODE_OPTIONS} --import=${module}` }

/**
 * Waits for a process that starts.
 * @returns each process's longest hold while `work` runs. A process that was restarted meanwhile held its loop for ever
 */
export async function holdsDuring(homeDir: string, work: () => Promise<unknown>): Promise<HoldOfProcess[]> {
  await Promise.all(watched.map((name) => untilSucceeds(() => ask(homeDir, name, '/begin'))))
  await work()
  const end = (name: string) =>
    ask(homeDir, name, '/end').then(
      (text) => JSON.parse(text) as Hold,
      (error: unknown): Hold => ({ ms: Infinity, functions: [`the process was restarted: ${String(error)}`] }),
    )
  return Promise.all(watched.map(async (process) => ({ process, ...(await end(process)) })))
}

async function ask(homeDir: string, name: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const socketPath = join(homeDir, socketName(name))
  // A kept connection may be closed in the moment in which it is used again.
  const options = { socketPath, path, agent: false, timeout: answerMs }
  const asking = request(options, resolve).on('error', reject)
  asking.on('timeout', () => asking.destroy(new Error(`no answer in ${answerMs} ms`)))
  asking.end()
  const response = await promise
  const answer = await text(response)
  if (response.statusCode === 200) return answer
  throw new Error(answer)
}
