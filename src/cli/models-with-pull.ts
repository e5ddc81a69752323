// `anneal models` with `pull`, which needs this repository: it runs on the machine where trainers and model servers run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { runtimeDir, toolPath } from '../../tools/paths.mjs'
import { parseCatalogue } from '../domain/catalogue.ts'
import { environment, serviceDefaults } from '../embedded/services.ts'
import { CommandError } from './command-error.ts'
import type { Command } from './command.ts'
import { models } from './models.ts'
import { UsageError } from './usage-error.ts'

export const modelsWithPull: Command = {
  usage: models.usage.replace(
    '\n\n',
    `
       anneal models pull NAME

  pull         fetches a base model of the catalogue to where trainers and model servers of this machine look for it
`,
  ),
  run: ([verb, ...args]) => (verb === 'pull' ? pull(args) : models.run(verb === undefined ? [] : [verb, ...args])),
}

async function pull([name, ...more]: string[]): Promise<number> {
  if (name === undefined || more.length > 0) throw new UsageError('models pull takes the name of one model.')
  const env = { ...serviceDefaults, ...environment() }
  const catalogue = parseCatalogue(JSON.parse(readFileSync(env.ANNEAL_CATALOGUE, 'utf8')))
  const entry = catalogue.find(name)
  if (!entry)
    throw new CommandError(
      `The catalogue has no model "${name}", only ${catalogue.entries.map((each) => each.name).join(', ')}.`,
    )
  const isInstalled = 'package' in entry.source && !('gguf' in entry.source)
  if (isInstalled) throw new CommandError(`${entry.name} is part of an installed package: there is nothing to fetch.`)
  const python = spawn(toolPath('python'), ['-m', 'anneal_runtime.pull', JSON.stringify(entry.source)], {
    env: { ...env, PYTHONPATH: runtimeDir },
    stdio: 'inherit',
  })
  const [code, signal] = (await once(python, 'exit')) as [number | null, NodeJS.Signals | null]
  return code === 0 ? 0 : signal === 'SIGINT' ? 130 : 1
}
