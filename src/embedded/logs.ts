import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'

const rotateAtBytes = 20e6

/** Renames a log past its size to `.1`, replacing the older one. Call only while no process writes to the log. */
export function rotateLog(path: string): void {
  if (existsSync(path) && statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`)
}

/** The last line about an error, or else the last line: mostly the reason why a server ended. */
export function lastLogLine(path: string): string {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').slice(-4000).trimEnd().split('\n') : []
  const line = lines.findLast((text) => /^\S*(error|fatal|panic|cannot)\b/i.test(text)) ?? lines.at(-1)
  return line?.slice(0, 400) || 'it wrote nothing'
}
