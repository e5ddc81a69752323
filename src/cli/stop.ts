import { StartError } from '../embedded/start-error.ts'
import { stopStack } from '../embedded/stop.ts'
import { defineVerb } from './command.ts'
import { homeOption, parseHome } from './options.ts'

export const command = defineVerb({
  options: { home: homeOption },
  async run(_args, values) {
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
})
