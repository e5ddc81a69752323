import { z } from 'zod'
import { parse } from './environment.ts'

const DatabaseEnvironment = z.object({ DATABASE_URL: z.string().min(1) })

/** All that a migration needs. `otherwise` is the database of a service on this machine. */
export const readDatabaseUrl = (environment: NodeJS.ProcessEnv = process.env, otherwise?: string): string =>
  parse(DatabaseEnvironment, { DATABASE_URL: otherwise, ...environment }).DATABASE_URL
