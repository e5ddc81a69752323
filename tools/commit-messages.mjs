// The rule of commit messages: the first line has at most 72 characters, and a body says why. Imports nothing but Node.
//   node tools/commit-messages.mjs FILE   checks one message, as the hook tools/hooks/commit-msg does
//   node tools/commit-messages.mjs        checks the commits of this branch that its upstream or main does not have
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
const failures = file ? checkMessage(readFileSync(file, 'utf8')) : newCommits().flatMap(checkCommit)
for (const failure of failures) console.error(failure)
process.exitCode = failures.length > 0 ? 1 : 0

function problems(message) {
  const [subject, ...rest] = message.split('\n')
  const body = rest.filter((line) => line.trim() !== '' && !/^[\w-]+-by: /.test(line))
  return [
    ...(subject.length > 72 ? [`the first line has ${subject.length} characters; at most 72 are allowed`] : []),
    ...(body.length === 0 ? ['the body is missing; say why the change is made'] : []),
  ]
}

/** Git takes comments out after the hook, and joins a fixup to its commit later. */
function checkMessage(text) {
  const message = text
    .split(/^# -+ >8 -+$/m)[0]
    .replaceAll(/^#.*\n?/gm, '')
    .trim()
  if (message === '' || /^(?:Merge|fixup!|squash!|amend!) /.test(message)) return []
  return problems(message).map((problem) => `Commit message: ${problem}.`)
}

/** Commits from before the rule are left alone: nobody rewrites them. */
function checkCommit(commit) {
  if (git('cat-file', '-e', `${commit}:tools/commit-messages.mjs`) === null) return []
  const message = git('log', '-1', '--format=%B', commit)
  return problems(message).map((problem) => `Commit ${commit.slice(0, 8)} "${message.split('\n')[0]}": ${problem}.`)
}

/** A shallow clone or one without a remote may have nothing to compare with: then the last commit stands for the branch. */
function newCommits() {
  const head = git('rev-parse', 'HEAD')
  const others = ['@{upstream}', 'origin/HEAD', 'origin/main', 'main']
  const base = others.map((other) => git('merge-base', other, 'HEAD')).find((commit) => commit && commit !== head)
  const range = base ? [`${base}..HEAD`] : ['--no-walk', 'HEAD']
  return (git('rev-list', '--no-merges', ...range) ?? '').split('\n').filter(Boolean)
}

/** The output, or null without git, outside of a clone, or for a name that does not exist. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}
