// A stack beside that of the tests, with data of its own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnNode, startArguments, stopArguments } from './services.ts'

export type OwnStack = { homeDir: string; stop: () => Promise<void> }

/** Starts with an empty folder, whose name begins with `name`. `stop` ends the stack and removes the folder. */
export async function startOwnStack(
  name: string,
  environmentOf: (homeDir: string) => NodeJS.ProcessEnv,
): Promise<OwnStack> {
  const homeDir = mkdtempSync(join(tmpdir(), name))
  const env = environmentOf(homeDir)
  const supervisor = spawnNode(startArguments(homeDir), env)
  const exited = new Promise<void>((resolve) => supervisor.once('close', () => resolve()))
  process.once('exit', () => supervisor.kill('SIGTERM'))
  const stop = async () => {
    await new Promise((resolve) => spawnNode(stopArguments(homeDir), env).once('close', resolve))
    await exited
    rmSync(homeDir, { recursive: true, force: true })
  }
  const ready = new Promise<void>((resolve, reject) => {
    let output = ''
    for (const stream of [supervisor.stdout, supervisor.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (output.includes('Ready in')) resolve()
      })
    void exited.then(() => reject(new Error(`The stack ended:\n${output}`)))
  })
  await ready.catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return { homeDir, stop }
}
