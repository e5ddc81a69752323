// The table of imports in docs/architecture.md and the linter's rules say the same.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

type Pattern = { regex: string; allowTypeImports?: true }
type Override = { files: string[]; rules: { 'typescript/no-restricted-imports'?: [string, { patterns: Pattern[] }] } }
type Row = { folder: string; values: string[]; types: string[] }

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const packages = ['express', '@temporalio', 'node:']
const rows = [...read('docs/architecture.md').matchAll(/^\| `((?:src\/)?[\w-]+)` \| [^|]+ \| ([^|]*)\| ([^|]*)\|$/gm)].map(
  ([, folder = '', values = '', types = '']): Row => ({ folder, values: names(values), types: names(types) }),
)
const all = [...rows.map(({ folder }) => folder.replace('src/', '')), 'generated', 'config', ...packages]

test('the table names every folder', () => {
  assert(rows.length >= 15)
  const unknown = rows.flatMap(({ values, types }) => [...values, ...types]).filter((name) => !all.includes(base(name)))
  assert.deepEqual(unknown, [])
})

for (const row of rows)
  test(`the linter holds the row of ${row.folder}`, () => {
    const { overrides } = JSON.parse(read('.oxlintrc.json')) as { overrides: Override[] }
    const [, { patterns }] = overrides.find(({ files }) => files.includes(`${row.folder}/**`))?.rules[
      'typescript/no-restricted-imports'
    ] ?? ['', { patterns: [] }]
    const rules = patterns.map(({ regex, allowTypeImports = false }) => ({ regex, allowTypeImports }))
    assert.deepEqual(rules, expected(row), `.oxlintrc.json and docs/architecture.md differ about ${row.folder}`)
  })

function expected({ folder, values, types }: Row) {
  const own = folder.replace('src/', '')
  // Node's built-ins are for all but the workflows, which must be deterministic.
  const free = own === 'workflows' ? [] : ['node:']
  const banned = all.filter((name) => name !== own && ![...values, ...types, ...free].includes(name))
  const onlyContract = values.includes('workflows/contract')
  return [
    { regex: pattern(types, onlyContract), allowTypeImports: true },
    { regex: pattern(banned, onlyContract), allowTypeImports: false },
  ].filter(({ regex }) => regex !== '')
}

function pattern(all: string[], onlyContract: boolean): string {
  const [contract, rest] = onlyContract && all.includes('workflows') ? ['|workflows/[^c]', 'workflows'] : ['', '']
  const folders = all.filter((name) => !packages.includes(name) && name !== rest)
  const ours = folders.length > 0 || contract ? [`(\\.\\./)+(src/)?((${folders.join('|')})[./]${contract})`] : []
  const theirs = all.filter((name) => packages.includes(name)).map((name) => (name === 'express' ? 'express$' : name))
  return ours.length + theirs.length === 0 ? '' : `^(${[...ours, ...theirs].join('|')})`
}

/** `workflows/contract` is a file of `workflows`. */
function base(name: string): string {
  return name.split('/')[0] === 'workflows' ? 'workflows' : name
}

function names(cell: string): string[] {
  return cell
    .trim()
    .split(', ')
    .filter((name) => name !== '')
}
