import { defineVerb } from './command.ts'
import { commands } from './commands.ts'
import { wordsOf } from './help.ts'
import { UsageError } from './usage-error.ts'

export const command = defineVerb({
  takes: { 'bash|zsh': '' },
  note: `Prints a script that completes commands, their verbs and options. To use it, add to ~/.bashrc or ~/.zshrc:
  source <(anneal completion bash)`,
  async run([shell]) {
    if (shell !== 'bash' && shell !== 'zsh') throw new UsageError('Name the shell: bash or zsh.')
    const words = await Promise.all(
      Object.entries(commands).map(async ([name, { load }]) => [name, wordsOf((await load()).command)] as const),
    )
    console.log(scriptFor(shell, words))
  },
})

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
