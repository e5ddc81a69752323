import { z } from 'zod'
import { parse } from './environment.ts'

const DatabaseEnvironment = z.object({ DATABASE_URL: z.string().min(1) })

/** All that a migration needs. */
export const readDatabaseUrl = (environment: NodeJS.ProcessEnv = process.env): string =>
  parse(DatabaseEnvironment, environment).DATABASE_URL
