// The frame of every command that talks to a running service: finds the address and the key, and reports errors.
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { readConnection, type Connection } from '../../embedded/connection.ts'
import { describeHome } from '../../embedded/data-directory.ts'
import { StartError } from '../../embedded/start-error.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import type { Command } from '../command.ts'
import { parseHome } from '../options.ts'
import { UsageError } from '../usage-error.ts'
import { createClient, type Address, type Client } from './client.ts'
import { clientConfig } from './client-config.ts'
import { isOutput, printAs } from './output.ts'
import { findProfile } from './profiles.ts'

const shared = {
  home: { type: 'string' },
  json: { type: 'boolean' },
  output: { type: 'string' },
  profile: { type: 'string' },
} as const satisfies ParseArgsOptionsConfig

const sharedUsage = (
  variables: string,
  isAdmin: boolean,
) => `  --output F   table (the default), json, or jsonl: JSON with an entry a line
  --json       the same as --output json
  --home DIR   the service of this data directory
${isAdmin ? '' : '  --profile P  a service of anneal login\n'}
Default: ${variables}, else ${isAdmin ? '' : 'the current profile, else '}.anneal in the repository, or in the current folder without one.

Exit codes: 0 done; 1 refused, or the job did not end as COMPLETED; 2 called wrongly; 3 the service cannot be reached; 130 interrupted.`

type Values<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O & typeof shared; allowPositionals: true }>
>['values']

type Invocation<O extends ParseArgsOptionsConfig> = {
  client: Client
  positionals: string[]
  values: Values<O>
  /** Prints the value as --output asks. */
  print: (value: unknown, text: () => string) => void
  /** Aborts when the user interrupts. */
  signal: AbortSignal
}

export function serviceCommand<O extends ParseArgsOptionsConfig>(definition: {
  /** The arguments in one line, then a line per option. */
  usage: string
  options: O
  /** How many arguments besides the options. */
  takes: { least: number; most: number }
  /** Uses the admin port. */
  isAdmin?: true
  /** Resolves with the exit code. */
  run: (invocation: Invocation<O>) => Promise<number>
}): Command {
  const { usage, options, takes, isAdmin = false } = definition
  const variables = isAdmin ? 'ANNEAL_ADMIN_URL and ANNEAL_ADMIN_TOKEN' : 'ANNEAL_URL and ANNEAL_API_KEY'
  return {
    usage: `${usage}\n${sharedUsage(variables, isAdmin)}`,
    async run(args) {
      const parsed = parseArgs({ args, options: { ...options, ...shared }, allowPositionals: true })
      const { positionals } = parsed
      const values = parsed.values as Values<O>
      if (positionals.length < takes.least) throw new UsageError('An argument is missing.')
      if (positionals.length > takes.most)
        throw new UsageError(`"${positionals[takes.most]}" is one argument too many.`)
      const { home, profile, json, output = json ? 'json' : 'table' } = parsed.values as SharedValues
      if (!isOutput(output)) throw new UsageError(`--output takes table, json or jsonl, not "${output}".`)
      const interruption = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.on(signal, () => interruption.abort(signal))
      try {
        const client = createClient(isAdmin ? findAdmin(home) : findService(home, profile), interruption.signal)
        const print = (value: unknown, text: () => string) => printAs(output, value, text)
        const isJson = output !== 'table'
        const { signal } = interruption
        return await definition.run({ client, positionals, values: { ...values, json: isJson, output }, print, signal })
      } catch (error) {
        return exitCodeFor(error, interruption.signal)
      } finally {
        // An open stream would keep the process alive.
        interruption.abort('done')
      }
    },
  }
}

type SharedValues = { home?: string; json?: boolean; output?: string; profile?: string }

/** A key is sent only to the service that it was given for. */
function findService(home: string | undefined, profile: string | undefined): Address {
  const { url, apiKey } = clientConfig()
  if (profile !== undefined && home !== undefined) throw new UsageError('Give either --home or --profile.')
  if (profile === undefined && home === undefined && url !== undefined) {
    if (apiKey === undefined) throw new UsageError('ANNEAL_URL is set, but ANNEAL_API_KEY is not. Set both.')
    return { apiUrl: url.replace(/\/+$/, ''), apiKey }
  }
  const chosen = home === undefined ? findProfile(profile) : null
  if (chosen) return { apiUrl: chosen.url, apiKey: chosen.apiKey }
  const connection = runningService(home, 'ANNEAL_URL and ANNEAL_API_KEY')
  return { apiUrl: connection.apiUrl, apiKey: (home === undefined ? apiKey : undefined) ?? connection.apiKey }
}

function findAdmin(home: string | undefined): Address {
  const { adminUrl, adminToken } = clientConfig()
  if (home === undefined && adminUrl !== undefined) {
    if (adminToken === undefined)
      throw new UsageError('ANNEAL_ADMIN_URL is set, but ANNEAL_ADMIN_TOKEN is not. Set both.')
    return { apiUrl: adminUrl.replace(/\/+$/, ''), apiKey: adminToken }
  }
  const { adminUrl: apiUrl, operatorToken } = runningService(home, 'ANNEAL_ADMIN_URL and ANNEAL_ADMIN_TOKEN')
  return { apiUrl, apiKey: operatorToken }
}

function runningService(home: string | undefined, variables: string): Connection {
  const described = describeHome(parseHome(home))
  const connection = readConnection(described)
  if (connection) return connection
  throw new CommandError(
    `No service runs in ${described.dir} (there is no ${described.connection}). Log in with anneal login, or set ${variables}.`,
    exitCodes.unreachable,
  )
}

function exitCodeFor(error: unknown, interrupted: AbortSignal): number {
  if (interrupted.aborted) {
    console.error('\nInterrupted. The service continues what it has accepted.')
    return exitCodes.interrupted
  }
  if (error instanceof CommandError || error instanceof StartError) {
    console.error(error.message)
    return error instanceof CommandError ? error.exitCode : exitCodes.failed
  }
  throw error
}
