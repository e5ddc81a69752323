import { defineVerb } from './command.ts'
import { readTemporalConfig } from '../config/temporal.ts'
import { exitCodes } from './command-error.ts'
import { registerWithTemporal } from '../temporal/register.ts'

export const command = defineVerb({
  note: `An existing namespace keeps its settings; a new one keeps closed workflows for 30 days. A repeat changes nothing.
Exit codes: ${exitCodes.done} everything exists · ${exitCodes.failed} refused, with the reason · ${exitCodes.unreachable} Temporal does not answer`,
  async run() {
    const { outcome, message } = await registerWithTemporal(readTemporalConfig())
    const print = outcome === 'done' ? console.log : console.error
    print(message)
    return exitCodes[outcome]
  },
})
