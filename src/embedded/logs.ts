import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'

const rotateAtBytes = 20e6

/** A log past its size becomes `.1`, and the `.1` before it goes. Only while nobody writes to it. */
export function rotateLog(path: string): void {
  if (existsSync(path) && statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`)
}

/** What a server said last, which is mostly why it ended. */
export function lastLogLine(path: string): string {
  const text = existsSync(path) ? readFileSync(path, 'utf8').slice(-4000) : ''
  return text.trimEnd().split('\n').at(-1)?.slice(0, 400) || 'it wrote nothing'
}
