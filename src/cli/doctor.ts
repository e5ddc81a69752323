import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { examine, type Examined } from '../compose/doctor/doctor.ts'
import { readKubernetesConfig } from '../config/kubernetes.ts'
import { readNexusTaskQueue } from '../config/nexus.ts'
import { readConfig } from '../config/service.ts'
import { readTemporalConfig } from '../config/temporal.ts'
import type { Finding } from '../domain/finding.ts'
import { describeHome } from '../embedded/data-directory.ts'
import { runningEnvironment } from '../embedded/running-environment.ts'
import { exitCodes } from './command-error.ts'
import { defineVerb } from './command.ts'
import { homeOption, parseHome } from './options.ts'
import { UsageError } from './usage-error.ts'

export const command = defineVerb({
  options: {
    kubernetes: { says: 'examines the cluster, too: rights, queue, GPUs. Run it in a pod of the worker' },
    objects: {
      value: 'FILE',
      says: 'with --kubernetes: what `kubectl get nodes,localqueues,clusterqueues,cohorts,workloadpriorityclasses -o json` prints, of an administrator who may read them; - reads standard input',
    },
    json: { says: 'prints the findings as JSON' },
    home: homeOption,
  },
  note: `Examines the dependencies with the settings of this process: those of the api or the worker, or of the service that runs on
the data directory. Writes one object to the store and deletes it; changes nothing else.
Exit codes: ${exitCodes.done} nothing failed; there may be warnings · ${exitCodes.failed} something failed`,
  async run(_, { kubernetes, objects, json, home }) {
    if (objects !== undefined && !kubernetes) throw new UsageError('--objects is for --kubernetes, which is missing.')
    const given = await read(objects)
    const findings = await findingsOf(() =>
      settingsOf(runningEnvironment(describeHome(parseHome(home))), kubernetes, given),
    )
    console.log(json ? JSON.stringify({ findings }, null, 2) : findings.map(inLines).join('\n'))
    // A request to a store that is silent would keep the process for minutes.
    process.exit(findings.some(({ state }) => state === 'failed') ? exitCodes.failed : exitCodes.done)
  },
})

function settingsOf(environment: NodeJS.ProcessEnv, kubernetes: boolean | undefined, objects: unknown): Examined {
  return {
    config: readConfig(environment),
    temporal: readTemporalConfig(environment),
    nexusTaskQueue: readNexusTaskQueue(environment),
    kubernetes: kubernetes ? { settings: readKubernetesConfig(environment), objects } : null,
  }
}

/** Wrong settings are a finding, too. */
async function findingsOf(settings: () => Examined): Promise<Finding[]> {
  let examined: Examined
  try {
    examined = settings()
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    const next =
      'Run this in a pod or container of the service, with --kubernetes in a pod of the worker, or with --home on the machine where it runs.'
    return [{ check: 'settings', state: 'failed', says, next }]
  }
  return examine(examined)
}

const wide = { state: 9, check: 22 }

function inLines({ state, check, says, next }: Finding): string {
  const indent = ' '.repeat(wide.state + wide.check)
  const lines = [...says.split('\n'), ...(next === undefined ? [] : [`→ ${next}`])]
  return `${state.padEnd(wide.state)}${check.padEnd(wide.check)}${lines.join(`\n${indent}`)}`
}

async function read(file: string | undefined): Promise<unknown> {
  if (file === undefined) return null
  try {
    return JSON.parse(file === '-' ? await text(process.stdin) : await readFile(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`--objects takes a file of JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
