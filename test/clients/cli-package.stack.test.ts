// The command line as its users install it: the packed file in an empty project, on a machine with Node and nothing else.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { nodeBinary, root } from '../../tools/paths.mjs'
import { connectAssistant } from '../support/assistant.ts'
import { connection, openAccount } from '../support/stack.ts'

const run = promisify(execFile)

suite('the packed command line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-package-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const [bin, project] = [join(folder, 'bin'), join(folder, 'project')]
  for (const each of [bin, project]) mkdirSync(each)
  // npm starts programs with a shell; Python and the servers are not there.
  symlinkSync(realPath(nodeBinary), join(bin, 'node'))
  for (const program of ['npm', 'npx']) symlinkSync(realPath(program), join(bin, program))
  for (const program of ['sh', 'env']) symlinkSync(realPath(program), join(bin, program))
  const { apiKey } = await openAccount()
  const env = { PATH: bin, HOME: folder, ANNEAL_API_KEY: apiKey }
  const inProject = async (program: string, ...args: string[]) =>
    (await run(join(bin, program), args, { cwd: project, env: { ...env, npm_config_update_notifier: 'false' } })).stdout

  const packed = execFileSync(process.execPath, ['--no-warnings', join(root, 'tools/pack-cli.mjs')], {
    encoding: 'utf8',
  })
  writeFileSync(join(project, 'package.json'), '{}')
  await inProject('npm', 'install', '--offline', '--no-audit', packed.trimEnd().split('\n').at(-1) ?? '')

  test('has the version of the service and needs no other package', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    assert.equal(await inProject('npx', 'anneal', '--version'), `${version}\n`)
    const list = JSON.parse(await inProject('npm', 'ls', '--all', '--json')) as { dependencies: object }
    assert.deepEqual(Object.keys(list.dependencies), ['anneal-cli'])
  })

  test('lists the remote commands', async () => {
    const help = await inProject('npx', 'anneal', '--help')
    assert.match(help, /^ {2}jobs +Lists training jobs/m)
    assert.doesNotMatch(help, /^ {2}(start|migrate) /m)
  })

  test('logs in, and prints JSON that a program can read', async () => {
    await inProject('npx', 'anneal', 'login', connection().apiUrl)
    assert.deepEqual(JSON.parse(await inProject('npx', 'anneal', 'jobs', '--output', 'json')), [])
    const models = JSON.parse(await inProject('npx', 'anneal', 'models', 'list', '--output', 'json')) as unknown[]
    assert.ok(JSON.stringify(models).includes(connection().baseModel))
  })

  test('holds the tools of an assistant, and the file that teaches them', async () => {
    const program = { command: join(bin, 'npx'), args: ['anneal', 'mcp'], cwd: project }
    const { client, call } = await connectAssistant(env, program)
    try {
      const { content } = await call('list', { what: 'models' })
      assert.ok(JSON.stringify(content).includes(connection().baseModel))
    } finally {
      await client.close()
    }
    const skill = join(project, 'node_modules/anneal-cli/docs/skills/anneal/SKILL.md')
    assert.match(readFileSync(skill, 'utf8'), /^---\nname: anneal\n/)
  })
})

function realPath(program: string): string {
  return execFileSync('sh', ['-c', 'realpath "$(command -v "$0")"', program], { encoding: 'utf8' }).trim()
}
