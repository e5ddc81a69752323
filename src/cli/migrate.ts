import { defineVerb } from './command.ts'
import { readMigrationConfig } from '../config/database.ts'
import { migrate as migrateDatabase } from '../embedded/migrations.ts'
import { urlWithPassword } from '../password-command.ts'
import { StartError } from '../embedded/start-error.ts'
import { exitCodes } from './command-error.ts'

export const command = defineVerb({
  note: `Any number may run at once: one migrates, the others wait. Migrations only add, so processes of the previous version keep working.
Exit codes: ${exitCodes.done} the database has the schema · ${exitCodes.failed} it does not, with the reason`,
  async run() {
    try {
      const migrated = await migrateDatabase(await urlWithPassword(readMigrationConfig()), new AbortController().signal)
      console.log(
        migrated
          ? 'The database was migrated to the schema of this version.'
          : 'The database has the schema of this version.',
      )
      return exitCodes.done
    } catch (error) {
      console.error(error instanceof StartError ? error.message : `The database cannot be reached: ${String(error)}`)
      return exitCodes.failed
    }
  },
})
