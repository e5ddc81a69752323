// The sandbox of a grader as arguments of bubblewrap: no network, no project, no other process, no variable of ours.
import { fileURLToPath } from 'node:url'

/** `prefix`: where its standard library is. `folders`: those of its packages. */
export type Interpreter = { executable: string; prefix: string; folders: readonly string[] }

const program = fileURLToPath(new URL('run_grader.py', import.meta.url))
const diskBytes = 1024 ** 3
/** Libraries that start a thread for each core would fail: a grader has one. */
const oneThread = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'LOKY_MAX_CPU_COUNT']
const variables = {
  LANG: 'C.UTF-8',
  HOME: '/tmp',
  LD_LIBRARY_PATH: '/python/lib',
  JOBLIB_MULTIPROCESSING: '0',
  ...Object.fromEntries(oneThread.map((name) => [name, '1'])),
}
const libraries = ['/lib', '/lib64', '/usr/lib', '/etc/ld.so.cache', '/usr/share/zoneinfo']

/**
 * The kernel ends a grader before the service when memory runs out. A session competes with other sessions as a whole, so nice
 * says nothing outside of the grader's own. The session's own number may be set ten times a second.
 */
const asVictim = `{
  echo 1000 >/proc/self/oom_score_adj
  [ -e /proc/self/autogroup ] && for try in 1 2 3 4 5 6 7 8 9; do
    echo 10 >/proc/self/autogroup && break
    sleep 0.1
  done
} 2>/dev/null
exec "$@"`

/**
 * Paths of this machine, such as a home's, have other names within.
 * @returns the words of a command. It takes no word of a user: the source comes by its standard input.
 */
export function sandboxCommand({ executable, prefix, folders }: Interpreter): [string, string[]] {
  const packages = folders.map((folder, at) => [folder, `/packages/${at}`] as const)
  return [
    'sh',
    [
      ...['-c', asVictim, 'sh'],
      'bwrap',
      ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
      ...['--uid', '65534', '--gid', '65534', '--cap-drop', 'ALL', '--die-with-parent', '--hostname', 'grader'],
      '--clearenv',
      ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
      ...libraries.flatMap((path) => ['--ro-bind-try', path, path]),
      ...['lib', 'lib64'].flatMap((name) => ['--ro-bind-try', `${prefix}/${name}`, `/python/${name}`]),
      ...['--ro-bind', executable, '/python/bin/python3', '--ro-bind', program, '/run_grader.py'],
      ...packages.flatMap(([folder, inside]) => ['--ro-bind', folder, inside]),
      ...['/dev/null', '/dev/urandom'].flatMap((path) => ['--dev-bind', path, path]),
      ...['--size', String(diskBytes), '--tmpfs', '/tmp', '--chdir', '/tmp', '--remount-ro', '/'],
      ...['/python/bin/python3', '-I', '-S', '-B', '/run_grader.py', ...packages.map(([, inside]) => inside)],
    ],
  ]
}
