import { parseArgs } from 'node:util'
import type { Command } from './command.ts'
import { StartError } from '../embedded/start-error.ts'
import { stopStack } from '../embedded/stop.ts'
import { homeUsage, parseHome } from './options.ts'

export const stop: Command = {
  usage: `[--home DIR]

${homeUsage}`,
  async run(args) {
    const { values } = parseArgs({ args, options: { home: { type: 'string' } } })
    const home = parseHome(values.home)
    try {
      const wasRunning = await stopStack(home, (text) => console.log(`  ${text}`))
      console.log(wasRunning ? `Stopped ${home}.` : `Nothing runs in ${home}.`)
      return 0
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      console.error(error.message)
      return 1
    }
  },
}
