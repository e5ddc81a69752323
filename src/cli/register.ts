import type { Command } from './command.ts'
import { readTemporalConfig } from '../config.ts'
import { exitCodes } from './command-error.ts'
import { registerWithTemporal } from '../temporal/register.ts'

export const register: Command = {
  summary: 'Makes the namespace and the search attributes that the worker needs, in Temporal at TEMPORAL_ADDRESS.',
  usage: `

  A namespace that is there keeps its settings; a new one keeps closed workflows for 30 days. A repeat changes nothing.
  Exit codes: ${exitCodes.done} all is there · ${exitCodes.failed} refused, the reason is printed · ${exitCodes.unreachable} Temporal does not answer`,
  async run() {
    const { outcome, message } = await registerWithTemporal(readTemporalConfig())
    const print = outcome === 'done' ? console.log : console.error
    print(message)
    return exitCodes[outcome]
  },
}
