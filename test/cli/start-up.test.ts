// A remote command starts fast because it loads few files. The files are counted, since times depend on the machine.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { root } from '../../tools/paths.mjs'

const local = ['start', 'stop', 'demo', 'migrate', 'bootstrap', 'register', 'doctor']

test('remote commands load no package, no catalogue and nothing of the servers', async () => {
  const loaded: string[] = []
  const hooks = registerHooks({
    load(url, context, next) {
      loaded.push(url)
      return next(url, context)
    },
  })
  for (const [name, { load }] of Object.entries(commands)) if (!local.includes(name)) await load()
  hooks.deregister()
  const unwanted = loaded.filter(
    (url) =>
      url.startsWith('file:') &&
      !/\/(src\/cli\/|src\/config\/client\.ts|src\/domain\/(near-name|other-names|method-table|money-text|unread-note)\.ts|src\/embedded\/(connection|data-directory|start-error)\.ts|tools\/(paths|pid-lock)\.mjs)/.test(
        url,
      ),
  )
  assert(loaded.length > 10)
  assert.deepEqual(unwanted, [])
})

test('--version prints the version of the package', () => {
  const printed = execFileSync(process.execPath, [join(root, 'src/cli.ts'), '--version'], { encoding: 'utf8' })
  assert.match(printed, /^\d+\.\d+\.\d+\n$/)
})
