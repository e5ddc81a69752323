import { invalidInput } from '../../domain/service-error.ts'
import type { TrackerRequest } from '../../domain/tracker.ts'
import type { Ctx } from '../context.ts'
import { callableUrl } from '../webhooks/exchange.ts'
import { seal } from './authorization.ts'

export type Integration = Pick<TrackerRequest, 'type' | 'trackingUri' | 'experiment' | 'runName' | 'serviceUrl'> & {
  username: string | null
  password: string | null
  token: string | null
}

/** What a job keeps of its integrations. @throws ServiceError invalid_input */
export const trackersOf = ({ deps: { settings } }: Ctx, integrations: readonly Integration[]): TrackerRequest[] =>
  integrations.map(({ type, trackingUri, experiment, runName, serviceUrl, ...credentials }, index) => {
    const place = `integrations[${index}]`
    const authorization = authorizationOf(place, credentials)
    return {
      type,
      trackingUri: callableUrl(settings.webhooks, `${place}.tracking_uri`, trackingUri),
      experiment,
      runName,
      sealedAuthorization: authorization === null ? null : seal(settings.secret, authorization),
      serviceUrl,
    }
  })

function authorizationOf(
  place: string,
  { username, password, token }: Pick<Integration, 'username' | 'password' | 'token'>,
): string | null {
  if (token !== null && (username !== null || password !== null))
    throw invalidInput(`${place}.token`, 'Give either a token, or a user name with a password.')
  if ((username === null) !== (password === null))
    throw invalidInput(`${place}.password`, 'Give the user name and the password together.')
  if (token !== null) return `Bearer ${token}`
  return username === null ? null : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
