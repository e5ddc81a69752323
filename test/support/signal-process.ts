/** That there is none, or that it has ended meanwhile, is fine. */
export function signalProcess(pid: number | null, signal: NodeJS.Signals): void {
  try {
    if (pid !== null) process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
