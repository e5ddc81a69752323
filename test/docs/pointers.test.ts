// Every pointer in a document or a comment leads somewhere: links, anchors, paths, file names and npm scripts.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

const folders = '{src,workflows,activities,runtime,prisma,test,bench,tools,k8s,models,docs,.ci}'
const ignored = (path: string) => /(^|\/)(node_modules|__pycache__|\.cache)(\/|$)|^docs\/lab\/.*\/|\/go\//.test(path)
const find = (pattern: string) => globSync(pattern, { cwd: root, exclude: ignored }).toSorted()
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const files = [...find('*'), ...find(`${folders}/**`)].filter((path) => statSync(join(root, path)).isFile())
const documents = files.filter((path) => path.endsWith('.md'))
const sources = files.filter((path) => /\.(ts|mts|mjs|py|yaml|yml|sh|prisma)$|Dockerfile$|^\.ci\//.test(path))
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

type Pointer = { file: string; line: number; target: string }

test('a link leads to a file, and its anchor to a heading', () => {
  const links = documents.flatMap((file) => matches(file, withoutCode(read(file)), /\]\(([^)\s]+)\)/g))
  assert(links.length > 50)
  assert.deepEqual(links.filter(isBrokenLink).map(show), [])
})

test('a path in a document or a comment exists', () => {
  const inDocuments = documents.flatMap((file) => matches(file, read(file), pathPattern))
  const inComments = sources.flatMap((file) => matches(file, comments(file), pathPattern))
  assert(inDocuments.length > 100 && inComments.length > 30)
  assert.deepEqual([...inDocuments, ...inComments].filter(isMissingPath).map(show), [])
})

test('a file that is named by the end of its path exists', () => {
  const inDocuments = documents.flatMap((file) => matches(file, read(file), /`([\w./-]+\.(?:ts|mjs|py|md|yaml))`/g))
  const inComments = sources.flatMap((file) => matches(file, comments(file), /(?:^|[\s`(])([\w-]+\.md)\b/g))
  const missing = [...inDocuments, ...inComments].filter(({ target }) => !isPlaceholder(target) && !isEndOfPath(target))
  assert.deepEqual(missing.map(show), [])
})

test('a section that is named in quotes beside a document is one of its headings', () => {
  const named = /([\w./-]+\.md),? ["'`](?:#+ )?([^"'`\n]+)["'`]/g
  const pointers = files
    .filter((path) => documents.includes(path) || sources.includes(path) || path.endsWith('models.json'))
    .flatMap((file) => matches(file, sources.includes(file) ? comments(file) : read(file), named, 2))
  assert(pointers.length > 2)
  assert.deepEqual(pointers.filter((pointer) => !namesHeading(pointer)).map(show), [])
})

test('an npm command is a script of package.json', () => {
  const command = /npm run (?:--silent )?([a-z][a-z:-]*)/g
  const pointers = [
    ...documents.flatMap((file) => matches(file, read(file), command)),
    ...sources.flatMap((file) => matches(file, comments(file), command)),
  ]
  assert(pointers.length > 30)
  assert.deepEqual(pointers.filter(({ target }) => !(target in scripts)).map(show), [])
})

/** From the root, with `*`, `{a,b}` and without what follows a colon. */
const pathPattern =
  /(?<![\w/.@:}-])((?:src|workflows|activities|runtime|prisma|test|bench|tools|k8s|docs|models)\/[\w./*{},-]*[\w*}])/g

/** Names that stand for any name: in patterns of paths, and where the reader makes the file. */
const isPlaceholder = (path: string) => /(^|\/)(NAME|ENTITY|VERB|mine|a\/b|x)\b/.test(path)

function isMissingPath({ target, file }: Pointer): boolean {
  if (isPlaceholder(target)) return false
  if (/[*{]/.test(target)) return find(target).length === 0
  const paths = [target, `${target}.ts`, join(dirname(file), target)]
  return !paths.some((path) => existsSync(join(root, path)))
}

function isEndOfPath(target: string): boolean {
  const end = `/${target.replace(/^(\.\.?\/)+/, '')}`
  return files.some((path) => `/${path}`.endsWith(end))
}

function isBrokenLink({ file, target }: Pointer): boolean {
  if (/^(https?|mailto):/.test(target)) return false
  const [path = '', anchor] = target.split('#')
  const to = path === '' ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(root, to))) return true
  return anchor !== undefined && !headings(to).map(slug).includes(anchor)
}

function namesHeading({ target, file }: Pointer): boolean {
  const [path = '', heading = ''] = target.split(' → ')
  const to = [path, join('docs', path), join(dirname(file), path)].find((each) => existsSync(join(root, each)))
  return to !== undefined && headings(to).includes(heading)
}

const headings = (path: string) => [...withoutCode(read(path)).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => text)

/** As GitHub makes anchors of headings. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Keeps the lines, so that their numbers stay right. */
const withoutCode = (text: string) => text.replaceAll(/^```.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, ''))

/** The file's lines with everything but comments (in Python also its strings) blanked. */
function comments(file: string): string {
  const marked = /\.(ts|mts|mjs)$/.test(file) ? /(?:^|\s)(?:\/\/|\/\*\*?|\* )(.*)$/ : /(?:^|\s)(?:#|""")(.*)$/
  return read(file)
    .split('\n')
    .map((line) => marked.exec(line)?.[1] ?? '')
    .join('\n')
}

function matches(file: string, text: string, pattern: RegExp, groups = 1): Pointer[] {
  return text
    .split('\n')
    .flatMap((content, index) =>
      [...content.matchAll(pattern)].map((match) => ({
        file,
        line: index + 1,
        target: match.slice(1, groups + 1).join(' → '),
      })),
    )
}

const show = ({ file, line, target }: Pointer) => `${file}:${line}: ${target}`
