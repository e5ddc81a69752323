import { z } from 'zod'
import { parse } from './environment.ts'

/** Run without a shell, so nothing here has the meaning that a shell would give it. */
const Command = z
  .string()
  .regex(
    /^[^"'`$\\|&;<>*?]*$/,
    'is run without a shell: put quotes, variables and pipes into a script, and name the script',
  )
  .transform((text) => text.split(/\s+/).filter((word) => word !== ''))

const DatabaseEnvironment = z.object({
  DATABASE_URL: z.string().min(1),
  /** Past a pooler of transactions, straight to Postgres. When it is set, DATABASE_URL is such a pooler's. */
  ANNEAL_DATABASE_SESSION_URL: z.string().min(1).optional(),
  /** Prints the password for addresses that have none. */
  ANNEAL_DATABASE_PASSWORD_COMMAND: Command.prefault(''),
})

const MigrationEnvironment = DatabaseEnvironment.partial().extend({
  /** Its user may change the schema. */
  ANNEAL_MIGRATE_DATABASE_URL: z.string().min(1).optional(),
})

/** For a few statements of a command. `otherwise` is the database of a service on this machine. */
export function readCommandDatabase(otherwise: string | undefined, environment: NodeJS.ProcessEnv = process.env) {
  return readDatabaseConfig({ DATABASE_URL: otherwise, ...environment }).databaseSession
}

/** @returns the addresses for statements and transactions, and for what needs a session of its own */
export function readDatabaseConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(DatabaseEnvironment, environment)
  const passwordCommand = commandOf(env.ANNEAL_DATABASE_PASSWORD_COMMAND, environment)
  const sessionUrl = env.ANNEAL_DATABASE_SESSION_URL
  return {
    database: { url: env.DATABASE_URL, passwordCommand, isPooled: sessionUrl !== undefined },
    databaseSession: { url: sessionUrl ?? env.DATABASE_URL, passwordCommand, isPooled: false },
  }
}

/** All that a migration needs. A migration holds a lock of its session, so it goes past a pooler. */
export function readMigrationConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(MigrationEnvironment, environment)
  const url = env.ANNEAL_MIGRATE_DATABASE_URL ?? env.ANNEAL_DATABASE_SESSION_URL ?? env.DATABASE_URL
  if (url === undefined)
    throw new Error('The environment is not valid: set DATABASE_URL or ANNEAL_MIGRATE_DATABASE_URL.')
  return { url, passwordCommand: commandOf(env.ANNEAL_DATABASE_PASSWORD_COMMAND, environment), isPooled: false }
}

const commandOf = (words: string[] = [], environment: NodeJS.ProcessEnv) =>
  words.length === 0 ? null : { words, environment }
