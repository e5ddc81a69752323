// The frame of every verb that talks to a running service: finds the address and the key, and reports errors.
import { readConnection, type Connection } from '../../embedded/connection.ts'
import { describeHome } from '../../embedded/data-directory.ts'
import { StartError } from '../../embedded/start-error.ts'
import { defineVerb, type Options, type Values, type Verb, type VerbTable } from '../command.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import { parseHome } from '../options.ts'
import { UsageError } from '../usage-error.ts'
import { createClient, type Address, type Client } from './client.ts'
import { clientConfig } from './client-config.ts'
import { isOutput, printAs, type Output } from './output.ts'
import { personToken } from './person-token.ts'
import { findProfile } from './profiles.ts'

const adminOptions = {
  output: { value: 'F', says: 'table (the default), json, or jsonl: JSON with an entry a line', isShared: true },
  json: { says: 'the same as --output json', isShared: true },
  home: { value: 'DIR', says: 'the service of this data directory', isShared: true },
} as const satisfies Options
const serviceOptions = {
  ...adminOptions,
  profile: { value: 'P', says: 'a service of anneal login', isShared: true },
} as const satisfies Options
type Shared = Partial<Values<typeof serviceOptions>>

const note = (variables: string, profile: string) =>
  `Default: ${variables}, else ${profile}.anneal in the repository, or in the current folder without one.

Exit codes: 0 done; 1 refused, or the job did not end as COMPLETED; 2 called wrongly; 3 the service cannot be reached; 130 interrupted.`

export type OnWarning = (sentence: string) => void

export type Invocation<O extends Options> = {
  client: Client
  address: Address
  /** A client whose requests end with this signal, and whose warnings go there. */
  clientUntil: (signal: AbortSignal, onWarning: OnWarning) => Client
  args: string[]
  values: Values<O>
  output: Output
  isJson: boolean
  /** Prints the value as --output asks. */
  print: (value: unknown, text: () => string) => void
  /** Aborts when the user interrupts. */
  signal: AbortSignal
}

type RemoteVerb<O extends Options> = VerbTable<O> & {
  /** Resolves with the exit code, or with nothing for 0. */
  run: (invocation: Invocation<O>) => Promise<number | void>
}

export const serviceVerb = <const O extends Options = {}>(verb: RemoteVerb<O>): Verb =>
  remoteVerb(verb, {
    shared: serviceOptions,
    note: note('ANNEAL_URL and ANNEAL_API_KEY', 'the current profile, else '),
    addressOf: ({ home, profile }) => findService(home, profile),
  })

/** Uses the admin port. */
export const adminVerb = <const O extends Options = {}>(verb: RemoteVerb<O>): Verb =>
  remoteVerb(verb, {
    shared: adminOptions,
    note: note('ANNEAL_ADMIN_URL and ANNEAL_ADMIN_TOKEN', ''),
    addressOf: ({ home }) => findAdmin(home),
  })

type Frame = { shared: Options; note: string; addressOf: (values: Shared) => Address }

function remoteVerb<O extends Options>(verb: RemoteVerb<O>, { shared, note, addressOf }: Frame): Verb {
  return defineVerb<Options>({
    ...verb,
    options: { ...verb.options, ...shared },
    note,
    async run(args, given) {
      const values = given as Values<O> & Shared
      const output = values.output ?? (values.json ? 'json' : 'table')
      if (!isOutput(output)) throw new UsageError(`--output takes table, json or jsonl, not "${output}".`)
      const interruption = new AbortController()
      const { signal } = interruption
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interruption.abort(name))
      try {
        const address = addressOf(values)
        const clientUntil = (until: AbortSignal, onWarning: OnWarning) => createClient(address, until, onWarning)
        const print = (value: unknown, text: () => string) => printAs(output, value, text)
        const asked = { args, values, output, isJson: output !== 'table', print, signal }
        return await verb.run({ client: clientUntil(signal, warn), clientUntil, address, ...asked })
      } catch (error) {
        return exitCodeFor(error, signal)
      } finally {
        // An open stream would keep the process alive.
        interruption.abort('done')
      }
    },
  })
}

/** The option --chat stands for the field. */
export const warn: OnWarning = (sentence) =>
  console.error(`Warning: ${sentence.replaceAll('"as_chat": true', '--chat')}`)

/** A key is sent only to the service that it was given for. */
function findService(home: string | undefined, profile: string | undefined): Address {
  const { url, apiKey } = clientConfig()
  if (profile !== undefined && home !== undefined) throw new UsageError('Give either --home or --profile.')
  if (profile === undefined && home === undefined && url !== undefined) {
    if (apiKey === undefined) throw new UsageError('ANNEAL_URL is set, but ANNEAL_API_KEY is not. Set both.')
    return { apiUrl: url.replace(/\/+$/, ''), apiKey }
  }
  const chosen = home === undefined ? findProfile(profile) : null
  if (chosen) return addressOfProfile(chosen)
  const connection = runningService(home, 'ANNEAL_URL and ANNEAL_API_KEY')
  return { apiUrl: connection.apiUrl, apiKey: (home === undefined ? apiKey : undefined) ?? connection.apiKey }
}

function addressOfProfile({ name, profile }: NonNullable<ReturnType<typeof findProfile>>): Address {
  if ('apiKey' in profile) return { apiUrl: profile.url, profile: name, apiKey: profile.apiKey }
  const token = (refused?: string) => personToken(name, refused)
  return { apiUrl: profile.url, profile: name, person: { account: profile.signedIn.account, token } }
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
