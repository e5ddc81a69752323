// `npm run test:deep -- pooler`: the API lane on a stack whose api and worker reach Postgres through PgBouncer in
// transaction mode, as a user who may not change the schema. Arguments are test files to run instead of the lane.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeHome, prepareHome } from '../../../src/embedded/data-directory.ts'
import { choosePorts } from '../../../src/embedded/ports.ts'
import { serviceDefaults } from '../../../src/embedded/services.ts'
import { root } from '../../../tools/paths.mjs'
import { until } from '../../support/eventually.ts'
import { spawnNode, stackEnvironment, startArguments, stopArguments } from '../../support/services.ts'
import { startPgbouncer } from './pgbouncer.ts'

const files = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'anneal-pooler-'))
const home = describeHome(dir)
prepareHome(home)
const { postgres } = await choosePorts(home, 0, () => undefined)
const password = randomBytes(12).toString('hex')
const pooler = await startPgbouncer(dir, postgres, { anneal_run: password })
const preload = pathToFileURL(join(import.meta.dirname, 'through-pooler.mjs')).href
const stack = spawnNode(startArguments(dir), {
  ...stackEnvironment(dir),
  NODE_OPTIONS: `${serviceDefaults.NODE_OPTIONS} --import ${preload}`,
  ANNEAL_TEST_POOLER: JSON.stringify({ port: pooler.port, password }),
})
stack.stdout?.pipe(process.stdout)
stack.stderr?.pipe(process.stderr)
const hasEnded = () => stack.exitCode !== null || stack.signalCode !== null
try {
  await until('the start of the stack', () => existsSync(home.connection) || hasEnded())
  const what = files.length > 0 ? files : ['--lane', 'api']
  const { status } = spawnSync(process.execPath, ['test/run.ts', '--attach', home.connection, ...what], {
    cwd: root,
    stdio: 'inherit',
  })
  const passed = await pooler.transactions()
  console.log(`${passed} transactions went through PgBouncer.`)
  process.exitCode = status === 0 && passed > 0 ? 0 : 1
} finally {
  spawnSync(process.execPath, stopArguments(dir), { cwd: root, stdio: 'inherit' })
  pooler.stop()
}
