// Temporal's development server with its UI, on a SQLite file.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { toolPath } from '../../tools/paths.mjs'
import { answers200 } from './http-probe.ts'
import type { ChildSpec } from './child.ts'
import type { Home } from './data-directory.ts'
import type { Ports } from './ports.ts'
import { StartError } from './start-error.ts'

/** Search attributes for the UI; the workflows set them. */
const searchAttributes = {
  AnnealAccount: 'Keyword',
  AnnealBaseModel: 'Keyword',
  AnnealStatus: 'Keyword',
  AnnealReason: 'Keyword',
  AnnealAttempt: 'Int',
}
// Write-ahead log: four times the speed of SQLite's default, and a kill -9 loses nothing either way.
const pragmas = ['journal_mode=wal', 'synchronous=normal']

const retentionDays = 30

/** Tasks with a fairness key take turns by it; without this Temporal ignores the key. */
export const dynamicConfig = ['matching.enableFairness=true']

type Temporal = Pick<ChildSpec, 'command' | 'args' | 'answers'> & {
  address: string
  uiUrl: string
  keepHistories: () => Promise<void>
}

export function prepareTemporal(home: Home, ports: Ports): Temporal {
  mkdirSync(home.temporal, { recursive: true, mode: 0o700 })
  const portFlags = {
    '--port': ports.temporal,
    '--ui-port': ports.temporalUi,
    '--http-port': ports.temporalHttp,
    '--metrics-port': ports.temporalMetrics,
  }
  const args = [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--ui-ip', '127.0.0.1', '--log-level', 'error'],
    ...['--db-filename', join(home.temporal, 'temporal.db')],
    ...Object.entries(portFlags).flatMap(([flag, port]) => [flag, String(port)]),
    ...pragmas.flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...dynamicConfig.flatMap((setting) => ['--dynamic-config-value', setting]),
    ...Object.entries(searchAttributes).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ]
  const httpUrl = `http://127.0.0.1:${ports.temporalHttp}`
  const uiUrl = `http://127.0.0.1:${ports.temporalUi}`
  return {
    command: toolPath('temporal'),
    args,
    address: `127.0.0.1:${ports.temporal}`,
    uiUrl,
    // The UI asks the front end, which asks its database: an answer means that all three are up.
    answers: () => answers200(`${uiUrl}/api/v1/namespaces/default`),
    keepHistories: () => keepHistories(httpUrl),
  }
}

/** The development server forgets a workflow a day after its end. Users look at last week's jobs. */
async function keepHistories(httpUrl: string): Promise<void> {
  const response = await fetch(`${httpUrl}/api/v1/namespaces/default/update`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ config: { workflowExecutionRetentionTtl: `${retentionDays * 86_400}s` } }),
    signal: AbortSignal.timeout(5_000),
  })
  if (!response.ok)
    throw new StartError(`Temporal refused to keep histories for ${retentionDays} days: ${await response.text()}`)
}
