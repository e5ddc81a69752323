// The pages name every setting that the code reads, and every event that a trainer tells.
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

/** Set by an image or by `npm start`, for its own files. */
const internal = ['ANNEAL_CONSOLE_DIR', 'ANNEAL_PYTHONPATH', 'ANNEAL_WORKFLOW_BUNDLE', 'ANNEAL_HOME', 'ANNEAL_PYTHON']

const textsIn = (folder: string, end: string) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(end))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))
    .join('\n')

test('every setting has its place on a page', () => {
  const settings = [...textsIn('src/config', '.ts').matchAll(/^  ([A-Z][A-Z0-9]*_[A-Z0-9_]+): /gm)].map(([, name = '']) => name)
  assert.ok(settings.length > 100)
  const pages = textsIn('docs', '.md')
  const namedIn = (name: string) => RegExp(`\\b${name}\\b`).test(pages)
  assert.deepEqual(settings.filter((name) => !internal.includes(name) && !namedIn(name)), [])
})

test('every event that a trainer tells has its line on the page', () => {
  const trainer = globSync('runtime/anneal_runtime/trainer/**/*.py', { cwd: root })
  const codes = trainer.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/(?:\bnote\(\s*|^ +\()"([a-z]+_[a-z_]+|overfitting)",/gm)].map(
      ([, code = '']) => code,
    ),
  )
  assert.ok(codes.length > 25)
  const page = readFileSync(join(root, 'docs/validation.md'), 'utf8')
  assert.deepEqual(codes.filter((code) => !page.includes(`\`${code}\``)), [])
})
