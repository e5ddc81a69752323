// Postgres refuses to run as root. Root therefore runs it as another user of a user namespace, where the files stay root's;
// where user namespaces are refused, as the user nobody.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import type { Home } from './data-directory.ts'
import { StartError } from './start-error.ts'

type Command = { command: string; args: string[] }

export type DatabaseUser = {
  /** The command that runs a program as this user. unshare replaces itself with the program, so the pid is the program's. */
  wrap: (program: string, args: string[]) => Command
  user?: { uid: number; gid: number }
}

const nobody = { uid: 65534, gid: 65534 }
const direct = (command: string, args: string[]): Command => ({ command, args })
const inNamespace = (program: string, args: string[]): Command => ({
  command: 'unshare',
  args: ['--user', '--map-user=1000', '--map-group=1000', program, ...args],
})

export function chooseDatabaseUser(home: Home, postgres: string): DatabaseUser {
  if (process.getuid?.() !== 0) return { wrap: direct }
  const { command, args } = inNamespace(postgres, ['--version'])
  if (spawnSync(command, args).status === 0) return { wrap: inNamespace }
  return asNobody(home, postgres)
}

function asNobody(home: Home, postgres: string): DatabaseUser {
  const unreachable = [
    spawnSync(postgres, ['--version'], nobody).status === 0 ? null : dirname(postgres),
    spawnSync('test', ['-x', home.dir], nobody).status === 0 ? null : home.dir,
  ].filter((dir) => dir !== null)
  if (unreachable.length > 0) {
    throw new StartError(
      `Postgres cannot run as root, and without user namespaces it runs as the user nobody, who cannot read ${unreachable.join(' and ')}. ` +
        'Start as another user, or move the data (--home) and the cache (ANNEAL_CACHE_DIR) to folders that every user can read.',
    )
  }
  return { wrap: direct, user: nobody }
}
