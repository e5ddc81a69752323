// A contributor's clone checks commit messages: git runs the hooks in tools/hooks.
import { root } from '../paths.mjs'
import { firstLine } from './command.mjs'

/** Does nothing outside of a clone of this repository, and where the user has set a path of hooks. */
export function setUpGitHooks() {
  if (git('rev-parse', '--show-toplevel') !== root || git('config', 'core.hooksPath') !== null) return
  git('config', '--local', 'core.hooksPath', 'tools/hooks')
}

const git = (...args) => firstLine('git', args, { cwd: root })
