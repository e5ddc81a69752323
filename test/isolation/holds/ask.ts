// Asks the processes of a stack that was started with watch.ts for the longest hold of their event loops.
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { serviceDefaults } from '../../../src/embedded/services.ts'
import { socketName } from './socket-name.ts'

/** The longest turn of an event loop, and the functions that ran in it with their share of the samples. */
export type Hold = { ms: number; functions: string[] }
export type HoldOfProcess = Hold & { process: string }

const watched = ['api', 'worker'] as const

const module = pathToFileURL(join(import.meta.dirname, 'watch.ts')).href
/** Settings of a stack that measures its holds. */
export const holdSettings = { NODE_OPTIONS: `${serviceDefaults.NODE_OPTIONS} --import=${module}` }

/** @returns each process's longest hold while `work` runs */
export async function holdsDuring(homeDir: string, work: () => Promise<unknown>): Promise<HoldOfProcess[]> {
  await Promise.all(watched.map((name) => ask(homeDir, name, '/begin')))
  await work()
  return Promise.all(
    watched.map(async (name) => ({ process: name, ...(JSON.parse(await ask(homeDir, name, '/end')) as Hold) })),
  )
}

async function ask(homeDir: string, name: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  // A kept connection may be closed in the moment in which it is used again.
  request({ socketPath: join(homeDir, socketName(name)), path, agent: false }, (response) => resolve(text(response)))
    .on('error', reject)
    .end()
  return promise
}
