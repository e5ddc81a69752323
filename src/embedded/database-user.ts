// Postgres refuses to run as root. Root therefore runs it in a user namespace where it is somebody else, with root's files;
// where those are refused, as nobody.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import type { Home } from './home.ts'
import { StartError } from './start-error.ts'

/** `prefix` goes before the command; it is replaced by the command, so the pid is the server's own. */
export type DatabaseUser = { prefix: string[]; user?: { uid: number; gid: number } | undefined }

const nobody = { uid: 65534, gid: 65534 }
const namespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000']

export function chooseDatabaseUser(home: Home, postgres: string): DatabaseUser {
  if (process.getuid?.() !== 0) return { prefix: [] }
  const [command = '', ...args] = namespace
  if (spawnSync(command, [...args, postgres, '--version']).status === 0) return { prefix: namespace }
  return asNobody(home, postgres)
}

export function asNobody(home: Home, postgres: string): DatabaseUser {
  const unreachable = [
    spawnSync(postgres, ['--version'], nobody).status === 0 ? null : dirname(postgres),
    spawnSync('test', ['-x', home.dir], nobody).status === 0 ? null : home.dir,
  ].filter((dir) => dir !== null)
  if (unreachable.length > 0) {
    throw new StartError(
      `Postgres does not run as root, user namespaces are not allowed here, and the user nobody cannot reach ${unreachable.join(' and ')}. ` +
        'Start as another user, or move the data (--home) and the cache (ANNEAL_CACHE_DIR) to where every user may go.',
    )
  }
  return { prefix: [], user: nobody }
}
