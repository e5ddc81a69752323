// A command as a table of its verbs, their arguments and their options. Parsing, help and shell completion read this table.
import { parseArgs } from 'node:util'
import { nearName } from '../domain/near-name.ts'
import { exitCodes } from './command-error.ts'
import { UsageError } from './usage-error.ts'

export type Option = {
  /** The name of the value in help. An option without a value is a flag. */
  value?: string
  says: string
  short?: string
  required?: true
  multiple?: true
  default?: string
  /** Every command that talks to a service has it, so the synopsis leaves it out. */
  isShared?: true
}
export type Options = Record<string, Option>

type ValueOf<O> = O extends { multiple: true } ? string[] : O extends { value: string } ? string : boolean
export type Values<O extends Options> = {
  [K in keyof O]: ValueOf<O[K]> | (O[K] extends { required: true } | { default: string } ? never : undefined)
}

export type VerbTable<O extends Options> = {
  /** Says in help how the verb works. Absent where the name of the verb is enough. */
  says?: string
  /** Explains each argument, by its name; '' adds no line of help. [NAME] may be left out, NAME... may be repeated. */
  takes?: Record<string, string>
  options?: O
}

export type Verb = VerbTable<Options> & {
  /** A paragraph below the options. */
  note?: string
  run: Action<Options>
}

/** Resolves with the exit code, or with nothing for 0. */
type Action<O extends Options> = (args: string[], values: Values<O>) => Promise<number | void>

/** The only verb of a command, or its verbs by name; '' is the verb when none is named. */
export type Command = Verb | Record<string, Verb>

/** `summary` is a sentence. `load` imports the file of the command. */
export type ListedCommand = { summary: string; load: () => Promise<{ command: Command }> }

/** Erases the types of the options. The cast is safe because `runCommand` passes the values of these options. */
export function defineVerb<const O extends Options = {}>(verb: VerbTable<O> & { note?: string; run: Action<O> }): Verb {
  return verb as Verb
}

/** @throws UsageError, or what `parseArgs` of Node throws */
export async function runCommand(name: string, command: Command, args: string[]): Promise<number> {
  const given = givenOptions(command, args)
  refuseUnknown(name, given, optionsOf(command))
  const { values, positionals } = parseArgs({ args, options: parsedOptions(command), allowPositionals: true })
  const verbs = verbsOf(command)
  const names = namesOf(verbs)
  const word = names.length === 0 ? '' : (positionals.shift() ?? '')
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (!verb)
    throw new UsageError(
      `anneal ${name} takes ${names.join(', ')}${word === '' ? '' : `, not "${word}"`}.${proposal(word, names)}`,
    )
  refuseUnknown(word === '' ? name : `${name} ${word}`, given, verb.options ?? {})
  refuseWrongCount(verb, positionals)
  for (const [option, { required }] of Object.entries(verb.options ?? {}))
    if (required && values[option] === undefined) throw new UsageError(`--${option} is missing.`)
  return (await verb.run(positionals, values as Values<Options>)) ?? exitCodes.done
}

/** A sentence to append: the word that was meant, if a known one is near. */
export function proposal(word: string, known: readonly string[]): string {
  const near = nearName(word, known)
  return near === null ? '' : ` Did you mean ${near}?`
}

type GivenOption = { name: string; rawName: string }

/** The options that the arguments name, known or not. */
function givenOptions(command: Command, args: string[]): GivenOption[] {
  const options = parsedOptions(command)
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true })
  return tokens.flatMap((token) => (token.kind === 'option' ? [token] : []))
}

/** Nothing that was asked for is left out in silence, such as an option of another verb. Node's own message names no near option. */
function refuseUnknown(name: string, given: readonly GivenOption[], known: Options) {
  for (const { name: option, rawName } of given) {
    if (Object.hasOwn(known, option)) continue
    const near = proposal(
      rawName,
      Object.keys(known).map((each) => `--${each}`),
    )
    const isText = near === '' && !rawName.startsWith('--')
    throw new UsageError(
      `anneal ${name} has no option ${rawName}.${isText ? ' Write -- before a text that begins with -.' : near}`,
    )
  }
}

export const verbsOf = (command: Command): Record<string, Verb> => (isVerb(command) ? { '': command } : command)

const isVerb = (command: Command): command is Verb => typeof command.run === 'function'

export const namesOf = (verbs: Record<string, Verb>) => Object.keys(verbs).filter((name) => name !== '')

export function optionsOf(command: Command): Options {
  return Object.assign({}, ...Object.values(verbsOf(command)).map(({ options }) => options)) as Options
}

/** The options of every verb, so that they may also stand before the verb. */
function parsedOptions(command: Command) {
  return Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { value, short, multiple = false, default: text }]) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const)
      return [name, { type, multiple, ...(short && { short }), ...(text !== undefined && { default: text }) }]
    }),
  )
}

function refuseWrongCount({ takes = {} }: Verb, args: readonly string[]) {
  const names = Object.keys(takes)
  const missing = names[args.length]
  if (missing !== undefined && !missing.startsWith('['))
    throw new UsageError(`${missing.replace('...', '')} is missing.`)
  if (args.length > names.length && !names.at(-1)?.endsWith('...'))
    throw new UsageError(`"${args[names.length]}" is one argument too many.`)
}
