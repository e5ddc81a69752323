// Another installation beside the stack of the tests.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConnection, type Connection } from '../../../src/embedded/connection.ts'
import { describeHome } from '../../../src/embedded/data-directory.ts'
import { spawnNode, stackEnvironment, startArguments, stopArguments } from '../../support/services.ts'

/** Starts with an empty folder. `stop` removes it. */
export async function startSecondStack(): Promise<{ connection: Connection; stop: () => Promise<void> }> {
  const homeDir = mkdtempSync(join(tmpdir(), 'anneal-second-'))
  const env = stackEnvironment(homeDir)
  const supervisor = spawnNode(startArguments(homeDir), env)
  const exited = new Promise<void>((resolve) => supervisor.once('close', () => resolve()))
  process.once('exit', () => supervisor.kill('SIGTERM'))
  const stop = async () => {
    await new Promise((resolve) => spawnNode(stopArguments(homeDir), env).once('close', resolve))
    await exited
    rmSync(homeDir, { recursive: true, force: true })
  }
  await new Promise<void>((resolve, reject) => {
    let output = ''
    for (const stream of [supervisor.stdout, supervisor.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (output.includes('Ready in')) resolve()
      })
    void exited.then(() => reject(new Error(`The second stack ended:\n${output}`)))
  })
  const connection = readConnection(describeHome(homeDir))
  if (!connection) throw new Error(`No service is ready in ${homeDir}.`)
  return { connection, stop }
}
