// What `npm run chart` makes from the chart. The schema and the README come from the comments of values.yaml; k8s/base,
// k8s/components and k8s/overlays are rendered by helm. test/k8s/chart.test.ts fails when a file differs.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readmeText, schemaText } from './chart/values-reference.ts'
import { root } from './paths.mjs'

const k8s = join(root, 'k8s')
const note = '# Rendered from k8s/chart by `npm run chart`. Do not edit.\n'

type Rendering = { path: string; values: string[]; only?: string[] }

/** Files below k8s/, the files of k8s/values that they are rendered with, and the templates that they hold (default: all). */
const renderings: Rendering[] = [
  { path: 'base/anneal.yaml', values: ['base'] },
  { path: 'components/kueue/anneal.yaml', values: ['base', 'components'], only: ['kueue'] },
  { path: 'components/monitoring/anneal.yaml', values: ['base', 'components'], only: ['monitoring'] },
  { path: 'components/autoscaling/anneal.yaml', values: ['base', 'components'], only: ['autoscaling'] },
  { path: 'overlays/production/anneal.yaml', values: ['production'] },
  { path: 'overlays/test/anneal.yaml', values: ['test'] },
]

/** The release anneal with its namespace, which kubectl does not make by itself, and without the tests of the chart. */
function template(helm: string, values: string[], only: string[]): string {
  const files = values.flatMap((name) => ['--values', join(k8s, `values/${name}.yaml`)])
  const shown = only.flatMap((name) => ['--show-only', `templates/${name}.yaml`])
  const args = [
    'template',
    'anneal',
    join(k8s, 'chart'),
    '--namespace',
    'anneal',
    '--skip-tests',
    '--set',
    'namespace.create=true',
    ...files,
    ...shown,
  ]
  return execFileSync(helm, args, { encoding: 'utf8', maxBuffer: 64 << 20 })
}

/** Maps paths below k8s/ to their text. */
export const references = (): Record<string, string> => ({
  'chart/values.schema.json': schemaText(),
  'chart/README.md': readmeText(),
})

/** As `references`, for the files that helm renders. */
export const rendered = (helm: string): Record<string, string> =>
  Object.fromEntries(renderings.map(({ path, values, only = [] }) => [path, note + template(helm, values, only)]))

if (import.meta.main) {
  const { buildHelm } = await import('../test/lab/cluster/build-helm.mjs')
  write(references())
  write(rendered(await buildHelm()))
}

function write(files: Record<string, string>) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(k8s, path)), { recursive: true })
    writeFileSync(join(k8s, path), text)
  }
}
