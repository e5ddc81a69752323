// Another installation beside the stack of the tests.
import { readConnection, type Connection } from '../../../src/embedded/connection.ts'
import { describeHome } from '../../../src/embedded/data-directory.ts'
import { startOwnStack } from '../../support/own-stack.ts'
import { stackEnvironment } from '../../support/services.ts'

/** Starts with an empty folder. `stop` removes it. */
export async function startSecondStack(): Promise<{ connection: Connection; stop: () => Promise<void> }> {
  const { homeDir, stop } = await startOwnStack('anneal-second-', stackEnvironment)
  const connection = readConnection(describeHome(homeDir))
  if (!connection) throw new Error(`No service is ready in ${homeDir}.`)
  return { connection, stop }
}
