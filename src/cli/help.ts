// Help, from the table of a command.
import { namesOf, optionsOf, verbsOf, type Command, type ListedCommand, type Option, type Verb } from './command.ts'

export function generalHelp(commands: Record<string, ListedCommand>): string {
  const lines = inColumns(Object.entries(commands).map(([name, { summary }]) => [name, summary] as const))
  return [
    'Usage: anneal <command> [options]',
    '',
    lines,
    '',
    'anneal <command> --help shows its options; anneal --version shows the version.',
  ].join('\n')
}

export function commandHelp(name: string, summary: string, command: Command): string {
  const verbs = Object.entries(verbsOf(command))
  const synopses = verbs.map(([verb, table]) => ['anneal', name, ...synopsis(verb, table)].join(' '))
  const lines = new Map<string, string>()
  for (const [verb, { says = '', takes = {} }] of verbs)
    for (const [label, text] of [[verb, says] as const, ...Object.entries(takes)])
      if (text !== '') lines.set(label.replaceAll(/[[\].]/g, ''), text)
  const options = Object.entries(optionsOf(command))
  for (const [option, table] of [...options.filter(isOwn), ...options.filter((each) => !isOwn(each))])
    lines.set(labelOf(option, table), saysOf(table))
  const notes = new Set(verbs.flatMap(([, { note }]) => note ?? []))
  return [`Usage: ${synopses.join('\n       ')}`, inColumns([...lines]), ...notes, summary]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** The words that completion offers after the command: an argument in small letters is one of its words. */
export function wordsOf(command: Command): string[] {
  const choices = Object.values(verbsOf(command)).flatMap(({ takes = {} }) =>
    Object.keys(takes).filter((name) => /^[a-z]/.test(name)),
  )
  const options = Object.keys(optionsOf(command)).map((name) => `--${name}`)
  return [
    ...new Set([...namesOf(verbsOf(command)), ...choices.flatMap((names) => names.split('|')), ...options, '--help']),
  ]
}

function synopsis(verb: string, { takes = {}, options = {} }: Verb): string[] {
  const words = Object.entries(options)
    .filter(isOwn)
    .map(([name, { value, required, multiple }]) => {
      const option = `--${name}${value === undefined ? '' : ` ${value}`}`
      return `${required ? option : `[${option}]`}${multiple ? '...' : ''}`
    })
  return [...(verb === '' ? [] : [verb]), ...Object.keys(takes), ...words]
}

const isOwn = ([, { isShared }]: [string, Option]) => !isShared

const labelOf = (name: string, { value, short }: Option) =>
  `${short ? `-${short}, ` : ''}--${name}${value === undefined ? '' : ` ${value}`}`

const saysOf = ({ says, default: text }: Option) => (text === undefined ? says : `${says} (default: ${text})`)

/** A text of several lines goes on in its column. */
function inColumns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...lines.map(([label]) => label.length))
  const below = `\n${' '.repeat(width + 4)}`
  return lines.map(([label, text]) => `  ${label.padEnd(width)}  ${text.replaceAll('\n', below)}`).join('\n')
}
