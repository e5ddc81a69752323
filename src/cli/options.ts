import { join, resolve } from 'node:path'
import { invocationDir, root } from '../../tools/paths.mjs'
import { UsageError } from './usage-error.ts'

const defaultHome = join(root, '.anneal')
export const defaultPort = 8080

export const homeOption = { value: 'DIR', says: 'data directory (default: .anneal in the repository)' } as const

export function parseHome(text: string | undefined): string {
  return text === undefined ? defaultHome : resolve(invocationDir, text)
}

export function parsePort(text: string | undefined): number {
  if (text === undefined) return defaultPort
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535) throw new UsageError(`--port takes a number from 0 to 65535, not "${text}".`)
  return port
}
