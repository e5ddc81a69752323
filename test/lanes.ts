// The lanes of `npm test`, cheapest first. A test file's name says what it needs, and so which lane runs it.
import { globSync } from 'node:fs'
import { root } from '../tools/paths.mjs'

export type Lane = {
  name: string
  what: string
  needs: 'nothing' | 'postgres' | 'stack'
  files: string[]
  /** Test files that run side by side; those of the unit lane often wait. Files with jobs of one stack run one after the other. */
  concurrency: number
  /** Commands of this lane besides its test files. They run side by side. */
  commands: string[][]
}

// The cluster's suites need root and a cluster: `npm run test:cluster`.
const all = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/lab/cluster/**'] }).toSorted()

/** `test/a/b.db.test.ts` → `db`; `test/a/b.test.ts` → `unit`. */
const kindOf = (file: string) => /\.(\w+)\.test\.ts$/.exec(file)?.[1] ?? 'unit'
/** Whole jobs, also by an SDK. They and the other files of a stack take about the same time. */
const isJob = (file: string) => /^test\/(e2e|clients)\//.test(file)

export const laneNames = ['unit', 'db', 'jobs', 'api', 'browser', 'programs', 'python', 'deep'] as const
export type LaneName = (typeof laneNames)[number]

/** The lane's files among the chosen ones; all of them when none was chosen. */
export function laneOf(name: LaneName, chosen: string[] | null): Lane {
  const files = (chosen ?? all).filter((file) => belongs[name](file, kindOf(file)))
  const commands =
    name === 'python' && chosen === null ? [pytest('tests/trainer'), pytest('--ignore=tests/trainer')] : []
  return { name, files, commands, ...needs[name] }
}

/** Half of the suite waits for programs that it started, so two halves at once use the cores better than one. */
const pytest = (half: string) => ['tools/python.mjs', 'test', '--quiet', '--durations=5', '-m', 'not slow', half]

const belongs: Record<LaneName, (file: string, kind: string) => boolean> = {
  unit: (_, kind) => kind === 'unit',
  db: (_, kind) => kind === 'db',
  jobs: (file, kind) => kind === 'stack' && isJob(file),
  api: (file, kind) => kind === 'stack' && !isJob(file),
  browser: (_, kind) => kind === 'browser',
  programs: (_, kind) => kind === 'programs',
  python: () => false,
  deep: (_, kind) => kind === 'deep',
}

const needs: Record<LaneName, Pick<Lane, 'what' | 'needs' | 'concurrency'>> = {
  unit: { what: 'neither a server nor Python', needs: 'nothing', concurrency: 4 },
  db: { what: 'Postgres only', needs: 'postgres', concurrency: 2 },
  jobs: { what: 'whole jobs and the SDKs, on a stack of its own', needs: 'stack', concurrency: 1 },
  api: { what: 'the HTTP API and the command line, on a stack of its own', needs: 'stack', concurrency: 1 },
  // The longest file waits for its training half of the time.
  browser: { what: 'the console in Chromium, on a stack of its own', needs: 'stack', concurrency: 2 },
  programs: { what: 'real programs without a stack', needs: 'nothing', concurrency: 1 },
  python: { what: 'the suite of runtime/', needs: 'nothing', concurrency: 1 },
  deep: { what: 'what npm run test:deep runs', needs: 'stack', concurrency: 1 },
}
