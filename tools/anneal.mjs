#!/usr/bin/env node
// The `anneal` command of the package (npm link): src/cli.ts on the Node that set-up put here, whichever Node runs this.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { isExecutable, nodeBinary, root } from './paths.mjs'

if (!isExecutable(nodeBinary)) {
  console.error(`${root} is not set up. Run there: npm run setup`)
  process.exit(1)
}
const child = spawn(nodeBinary, [join(root, 'src/cli.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
// Ctrl-C reaches both of us from the terminal; the rest is passed on.
process.on('SIGINT', () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
