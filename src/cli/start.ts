import { parseArgs } from 'node:util'
import type { Command } from './command.ts'
import { runSupervisor } from '../embedded/supervisor.ts'
import { defaultPort, homeUsage, parseHome, parsePort } from './options.ts'

export const start: Command = {
  usage: `[--home DIR] [--port N]

${homeUsage}
  --port N     port of the public API (default: ${defaultPort}; 0 takes a free port and keeps it)`,
  async run(args) {
    const { values } = parseArgs({ args, options: { home: { type: 'string' }, port: { type: 'string' } } })
    return runSupervisor({ home: parseHome(values.home), port: parsePort(values.port) })
  },
}
