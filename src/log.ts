import { pino, type Logger } from 'pino'

export type Log = Logger

export const createLog = (name: string, level: string): Log => pino({ name, level, base: { name } })
