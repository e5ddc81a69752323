// A commit's first line has at most 72 characters and its body says why: the hook and the check of CI, in a repository of
// their own.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { root } from '../../tools/paths.mjs'

const dir = mkdtempSync(join(tmpdir(), 'anneal-commits-'))
after(() => rmSync(dir, { recursive: true }))

const identity = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a' }
const env = { ...process.env, ...identity, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
const git = (...args: string[]) => execFileSync('git', args, { cwd: dir, env, encoding: 'utf8', stdio: 'pipe' }).trim()
const run = (command: string, ...args: string[]) => {
  const { status, stderr } = spawnSync(command, args, { cwd: dir, env, encoding: 'utf8' })
  return { status, stderr }
}
const commit = (...paragraphs: string[]) =>
  run('git', 'commit', '--allow-empty', '--cleanup=strip', ...paragraphs.flatMap((text) => ['-m', text]))
const setUpGitHooks = () =>
  run(process.execPath, '-e', `import { setUpGitHooks } from './tools/setup/git-hooks.mjs'; setUpGitHooks()`)
const checkBranch = () => run(process.execPath, 'tools/commit-messages.mjs')

cpSync(join(root, 'tools'), join(dir, 'tools'), { recursive: true })
git('init', '--quiet', '--initial-branch', 'main')
git('add', 'tools/commit-messages.mjs')
commit('Neither checked nor explained')

test('the set-up keeps a path of hooks that the user has set', () => {
  git('config', 'core.hooksPath', 'mine')
  setUpGitHooks()
  assert.equal(git('config', 'core.hooksPath'), 'mine')
  git('config', '--unset', 'core.hooksPath')
})

test('the check names each new commit that breaks the rule, and no older commit', () => {
  git('checkout', '--quiet', '-b', 'branch')
  commit('Cancel an attempt', 'A late checkpoint would win.')
  assert.deepEqual(checkBranch(), { status: 0, stderr: '' })
  commit('Cancel an attempt without a reason')
  commit('x'.repeat(73), 'Why.')
  const { status, stderr } = checkBranch()
  assert.equal(status, 1)
  assert.match(stderr, /"x{73}": the first line has 73 characters.*\n.*without a reason": the body is missing[^\n]*\n$/)
})

test('the hook refuses a long first line and a missing body', () => {
  setUpGitHooks()
  assert.match(commit('x'.repeat(73), 'Why.').stderr, /the first line has 73 characters; at most 72 are allowed/)
  assert.match(commit('Cancel an attempt', 'Signed-off-by: a <a>').stderr, /the body is missing/)
  assert.equal(commit('x'.repeat(72), 'Why.').status, 0)
})
