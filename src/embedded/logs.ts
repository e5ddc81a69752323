import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'

const rotateAtBytes = 20e6

/** A log past its size becomes `.1`, and the `.1` before it goes. Only while nobody writes to it. */
export function rotateLog(path: string): void {
  if (existsSync(path) && statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`)
}

/** What a server said last about an error, or at all: mostly why it ended. */
export function lastLogLine(path: string): string {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').slice(-4000).trimEnd().split('\n') : []
  const line = lines.findLast((text) => /^\S*(error|fatal|panic|cannot)\b/i.test(text)) ?? lines.at(-1)
  return line?.slice(0, 400) || 'it wrote nothing'
}
