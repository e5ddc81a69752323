import { runSupervisor } from '../embedded/supervisor.ts'
import { defineVerb } from './command.ts'
import { defaultPort, homeOption, parseHome, parsePort } from './options.ts'

export const command = defineVerb({
  options: {
    home: homeOption,
    port: {
      value: 'N',
      says: `port of the public API (default: ${defaultPort}; 0 takes a free port and keeps it)`,
    },
  },
  run: async (_args, { home, port }) => runSupervisor({ home: parseHome(home), port: parsePort(port) }),
})
