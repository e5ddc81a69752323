/** @returns the processor time that this thread takes for `run`, in milliseconds: other load on the machine does not count */
export function processorMs(run: () => unknown): number {
  const before = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
