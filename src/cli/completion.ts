import type { Command } from './command.ts'
import { commands } from './commands.ts'
import { UsageError } from './usage-error.ts'

export const completion: Command = {
  usage: `bash|zsh

Prints a script that completes commands, their verbs and options. To use it, add to ~/.bashrc or ~/.zshrc:
  source <(anneal completion bash)`,
  async run([shell, ...more]) {
    if ((shell !== 'bash' && shell !== 'zsh') || more.length > 0) throw new UsageError('Name the shell: bash or zsh.')
    const words = await Promise.all(
      Object.entries(commands).map(async ([name, { load }]) => [name, wordsOf(name, (await load()).usage)] as const),
    )
    console.log(scriptFor(shell, words))
    return 0
  },
}

/** Verbs stand first in the lines that begin the usage, as in "anneal keys revoke ID". */
export function wordsOf(name: string, usage: string): string[] {
  const [synopsis = ''] = usage.split('\n\n')
  const lines = synopsis.split('\n').map((line) => line.trim().replace(`anneal ${name} `, ''))
  const verbs = lines.flatMap((line) => /^\[?([a-z][a-z|-]*)/.exec(line)?.[1]?.split('|') ?? [])
  return [...new Set([...verbs, ...(usage.match(/--[a-z][a-z-]*/g) ?? []), '--help'])]
}

/** Where nothing fits, the shell completes names of files. */
function scriptFor(shell: 'bash' | 'zsh', words: readonly (readonly [string, string[]])[]): string {
  const cases = words.map(([name, list]) => `      ${name}) words='${list.join(' ')}' ;;`)
  return `${shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : ''}_anneal() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${words.map(([name]) => name).join(' ')} help --version'
  else
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _anneal anneal`
}
