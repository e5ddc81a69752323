import type { Command } from './command.ts'
import { readDatabaseUrl } from '../config.ts'
import { migrate as migrateDatabase } from '../embedded/migrations.ts'
import { StartError } from '../embedded/start-error.ts'
import { exitCodes } from './command-error.ts'

export const migrate: Command = {
  summary: 'Brings the database in DATABASE_URL to the schema of this version. A repeat changes nothing.',
  usage: `

  Any number may run at once: one migrates, the others wait. Migrations only add, so processes of the version before go on.
  Exit codes: ${exitCodes.done} the schema is there · ${exitCodes.failed} it is not, the reason is printed`,
  async run() {
    try {
      const migrated = await migrateDatabase(readDatabaseUrl(), new AbortController().signal)
      console.log(
        migrated
          ? 'The database was brought to the schema of this version.'
          : 'The database has the schema of this version.',
      )
      return exitCodes.done
    } catch (error) {
      console.error(error instanceof StartError ? error.message : `The database cannot be reached: ${String(error)}`)
      return exitCodes.failed
    }
  },
}
