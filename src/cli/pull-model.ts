// `anneal models pull`: on the machine where trainers and model servers run, whether the service runs or not.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { runtimeDir, toolPath } from '../../tools/paths.mjs'
import { readCatalogue } from '../embedded/catalogue.ts'
import { environment, serviceDefaults } from '../embedded/services.ts'
import { CommandError } from './command-error.ts'

export async function pullModel(name: string): Promise<number> {
  const catalogue = readCatalogue()
  const entry = catalogue.find(name)
  if (!entry)
    throw new CommandError(
      `The catalogue has no model "${name}", only ${catalogue.entries.map((each) => each.name).join(', ')}.`,
    )
  const isInstalled = 'package' in entry.source && !('gguf' in entry.source)
  if (isInstalled) {
    console.log(`${entry.name} is part of an installed package: there is nothing to fetch.`)
    return 0
  }
  const python = spawn(toolPath('python'), ['-m', 'anneal_runtime.pull', JSON.stringify(entry.source)], {
    env: { ...serviceDefaults, ...environment(), PYTHONPATH: runtimeDir },
    stdio: 'inherit',
  })
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, () => python.kill(signal))
  const [code, signal] = (await once(python, 'exit')) as [number | null, NodeJS.Signals | null]
  return code === 0 ? 0 : signal === 'SIGINT' ? 130 : 1
}
