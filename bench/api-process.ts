// CPU time and memory of the api process, from /proc.
import { readFileSync, writeFileSync } from 'node:fs'

const ticksPerSecond = 100

export function watchProcess(pid: number) {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8')
  const cpuSeconds = () => {
    const stat = read('stat')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) / ticksPerSecond
  }
  const megabytes = (name: 'VmHWM' | 'VmRSS') =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(read('status'))?.[1]) / 1024

  return {
    /** CPU time during `work`, and its peak memory above the memory before. */
    async during<T>(work: () => Promise<T>) {
      // Resets the peak.
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
      const [idleMegabytes, secondsBefore, startedAt] = [megabytes('VmRSS'), cpuSeconds(), performance.now()]
      const result = await work()
      return {
        result,
        seconds: (performance.now() - startedAt) / 1000,
        cpuSeconds: cpuSeconds() - secondsBefore,
        megabytes: megabytes('VmHWM') - idleMegabytes,
      }
    },
  }
}
