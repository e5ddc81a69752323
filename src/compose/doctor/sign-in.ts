import { pino } from 'pino'
import { failed, ok, warning } from '../../domain/finding.ts'
import type { SignInSettings } from '../../services/sign-in.ts'
import { createIssuer } from '../../sign-in/issuer.ts'
import type { ClockReading } from './clocks.ts'
import { reasonOf, runCheck } from './run-check.ts'

const timeoutMs = 5000
const askApi =
  'Only the api needs to reach it: kubectl exec deploy/anneal-api -c api -- node src/cli.ts doctor, and read the line sign-in.'

/** @param isWorker the network policies may let only the api reach the provider */
export async function checkSignIn(settings: SignInSettings | null, isWorker: boolean) {
  const clock: ClockReading = { of: 'identity provider', aheadMs: null }
  if (!settings) return { findings: [], clock }
  const next = 'Check ANNEAL_OIDC_ISSUER, and that the network policies let the api reach it.'
  const finding = await runCheck('sign-in', next, async () => {
    const reasons: string[] = []
    // createIssuer answers requests, so it tells the reason to the log alone.
    const log = pino({
      hooks: { logMethod: ([fields]) => void reasons.push(reasonOf((fields as unknown as { err?: unknown }).err)) },
    })
    const issuer = createIssuer(settings, log)
    const found = await issuer.configuration().catch(() => null)
    if (!found) {
      const says = `${settings.issuer.href} does not answer: ${reasons.join(', ')}`
      return isWorker ? warning(says, askApi) : failed(says, next)
    }
    const address = found.serverMetadata().jwks_uri
    if (address === undefined) return failed(`${settings.issuer.href} names no jwks_uri`, next)
    const answer = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) })
    const told = Date.parse(answer.headers.get('date') ?? '')
    if (!Number.isNaN(told)) clock.aheadMs = told + 500 - Date.now()
    const { keys } = (await answer.json()) as { keys?: unknown[] }
    if (!answer.ok || !Array.isArray(keys) || keys.length === 0)
      return failed(`${address} gives no signing keys (status ${answer.status})`, next)
    return ok(`${settings.issuer.href} answers, with ${keys.length} signing ${keys.length === 1 ? 'key' : 'keys'}`)
  })
  return { findings: [finding], clock }
}
