import type { TemporalConfig } from '../../config/temporal.ts'
import { failed, ok, type Finding } from '../../domain/finding.ts'
import { checkRegistration } from '../../temporal/check-registration.ts'
import { inspectTemporal, type Inspected } from '../../temporal/inspect.ts'
import type { ClockReading } from './clocks.ts'
import { runCheck } from './run-check.ts'

export async function checkTemporal(config: TemporalConfig, nexusTaskQueue: string) {
  const clock: ClockReading = { of: 'Temporal', aheadMs: null }
  const { outcome, message } = await checkRegistration(config, nexusTaskQueue)
  if (outcome !== 'done') {
    const next =
      outcome === 'unreachable' ? 'Look at the network policies and at TEMPORAL_TLS_….' : 'Run `anneal register`.'
    return { findings: [{ check: 'temporal', ...failed(message, next) }], clock }
  }
  let seen: Inspected | undefined
  const findings: Finding[] = [
    await runCheck('temporal', 'Look at the rights of TEMPORAL_API_KEY or of the certificate.', async () => {
      seen = await inspectTemporal(config)
      clock.aheadMs = seen.clockAheadMs
      return ok(`version ${seen.serverVersion} answers, and the namespace ${config.namespace} has all that is needed`)
    }),
  ]
  if (seen) findings.push({ check: 'worker', ...judgeWorkers(seen.pollers) })
  return { findings, clock }
}

const judgeWorkers = (pollers: number) =>
  pollers > 0
    ? ok(`${pollers} ${pollers === 1 ? 'process asks' : 'processes ask'} Temporal for work`)
    : failed('no process asks Temporal for work, so no job moves on', 'Look at the log of the worker.')
