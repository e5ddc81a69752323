import { defineVerb } from './command.ts'
import { readNexusTaskQueue } from '../config/nexus.ts'
import { readTemporalConfig } from '../config/temporal.ts'
import { exitCodes } from './command-error.ts'
import { checkRegistration } from '../temporal/check-registration.ts'
import { registerWithTemporal } from '../temporal/register.ts'

export const command = defineVerb({
  options: {
    check: { says: 'change nothing: say what is missing, and the commands of temporal and tcld that add it' },
  },
  note: `An existing namespace keeps its settings; a new one keeps closed workflows for 30 days. A repeat changes nothing.
Exit codes: ${exitCodes.done} everything exists · ${exitCodes.failed} refused, with the reason, or with --check something is missing · ${exitCodes.unreachable} Temporal does not answer`,
  async run(_, { check }) {
    const config = readTemporalConfig()
    const { outcome, message } = await (check
      ? checkRegistration(config, readNexusTaskQueue())
      : registerWithTemporal(config))
    const print = outcome === 'done' ? console.log : console.error
    print(message)
    return exitCodes[outcome]
  },
})
