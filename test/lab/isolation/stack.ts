// The stack that an attack strikes: a new one for each attack, so that nothing is left of the one before.
import { readConnection, type Connection } from '../../../src/embedded/connection.ts'
import { describeHome } from '../../../src/embedded/data-directory.ts'
import { startOwnStack } from '../../support/own-stack.ts'
import { openAccount } from './accounts.ts'
import type { Size, Stage } from './attack.ts'

/** One training at a time, and no model server that ends because nobody asks it. */
const stackSettings = {
  ANNEAL_SLOTS: '1',
  ANNEAL_IDLE_TIMEOUT_SECONDS: '86400',
  ANNEAL_COLD_START_TIMEOUT_SECONDS: '240',
  LOG_LEVEL: 'warn',
}

/** Ends the stack and removes its data afterwards, also when `use` fails. */
export async function withStack<T>(
  { settings, parts }: { settings: NodeJS.ProcessEnv; parts: readonly string[] },
  use: (stack: Stage) => Promise<T>,
): Promise<T> {
  const { homeDir, stop } = await startOwnStack('anneal-isolation-', () => ({
    ...process.env,
    ...stackSettings,
    ...settings,
  }))
  try {
    return await use(await openStage(homeDir, 'full', parts))
  } finally {
    await stop()
  }
}

/** Two accounts of their own on a stack that is up. */
export async function openStage(homeDir: string, size: Size, parts: readonly string[] = []): Promise<Stage> {
  const connection = readConnection(describeHome(homeDir))
  if (!connection) throw new Error(`No service is ready in ${homeDir}.`)
  const attacker = await openAccount(connection, 'attacker')
  const victim = await openAccount(connection, 'victim')
  return { connection: connection satisfies Connection, homeDir, size, parts, attacker, victim }
}
