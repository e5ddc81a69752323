// The sandbox of a grader as arguments of bubblewrap: no network, no project, no other process, no variable of ours.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An interpreter. `prefixes`: of its environment and of the Python that the environment is made of. */
export type Interpreter = { executable: string; prefixes: readonly string[] }

const program = fileURLToPath(new URL('run_grader.py', import.meta.url))
const programInside = '/run_grader.py'
const diskBytes = 1024 ** 3
/** Libraries that start a thread for each core would fail: a grader has one. */
const oneThread = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'LOKY_MAX_CPU_COUNT']
const environment = { LANG: 'C.UTF-8', HOME: '/tmp', JOBLIB_MULTIPROCESSING: '0' }
const variables = { ...environment, ...Object.fromEntries(oneThread.map((name) => [name, '1'])) }

/** The kernel ends a grader before the service when memory runs out. None of the words is a user's. */
const asVictim = ['-c', 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$@"', 'sh']

/** @returns the words of a command. It takes no word of a user: the source comes by its standard input. */
export function sandboxCommand({ executable, prefixes }: Interpreter): [string, string[]] {
  const shown = ['/lib', '/lib64', '/usr/lib', '/etc/ld.so.cache', '/usr/share/zoneinfo']
  const python = prefixes.flatMap((prefix) => ['lib', 'lib64', 'pyvenv.cfg'].map((name) => join(prefix, name)))
  const programs = [dirname(executable), ...prefixes.map((prefix) => join(prefix, 'bin'))]
  return [
    'sh',
    [
      ...asVictim,
      'bwrap',
      ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
      ...['--uid', '65534', '--gid', '65534', '--cap-drop', 'ALL', '--die-with-parent', '--hostname', 'grader'],
      '--clearenv',
      ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
      ...new Set([...shown, ...python, ...programs]).values().flatMap((path) => ['--ro-bind-try', path, path]),
      ...['/dev/null', '/dev/urandom'].flatMap((path) => ['--dev-bind', path, path]),
      ...['--ro-bind', program, programInside],
      ...['--size', String(diskBytes), '--tmpfs', '/tmp', '--chdir', '/tmp', '--remount-ro', '/'],
      ...[executable, '-I', '-B', programInside],
    ],
  ]
}
