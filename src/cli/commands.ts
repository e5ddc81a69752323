// Every command. Those below need this repository.
import type { ListedCommand } from './command.ts'
import { remoteCommands } from './remote-commands.ts'

export const commands: Record<string, ListedCommand> = {
  start: {
    summary: 'Runs the whole service on this machine, in the foreground, until Ctrl-C or `anneal stop`.',
    load: () => import('./start.ts'),
  },
  stop: {
    summary: 'Stops the service that runs on a data directory, and waits until it is gone.',
    load: () => import('./stop.ts'),
  },
  demo: {
    summary: 'Fine-tunes the default base model on 40 sample rows and compares it with the base.',
    load: () => import('./demo.ts'),
  },
  ...remoteCommands,
  models: {
    summary: 'Lists, fetches, names, downloads and deletes models.',
    load: () => import('./models-with-pull.ts'),
  },
  migrate: {
    summary:
      'Migrates the database in ANNEAL_MIGRATE_DATABASE_URL, or else in DATABASE_URL, to the schema of this version. A repeat changes nothing.',
    load: () => import('./migrate.ts'),
  },
  doctor: {
    summary:
      'Examines the database, the object store, Temporal and the cluster of an installation, with the next step for each fault.',
    load: () => import('./doctor.ts'),
  },
  bootstrap: {
    summary: 'Makes the first account and its first key in the database. A repeat makes nothing.',
    load: () => import('./bootstrap.ts'),
  },
  register: {
    summary:
      'Creates the namespace and the search attributes of the worker in the Temporal server at TEMPORAL_ADDRESS.',
    load: () => import('./register.ts'),
  },
}
