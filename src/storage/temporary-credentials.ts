// Credentials of the object store that end and are renewed: of a web identity, a container's agent, or the instance.
// minio's IamAwsProvider reads the key id of none of the last two, knows no other STS than Amazon's and has no timeouts
// (docs/decisions/own-store-credentials.md).
import { Credentials } from 'minio/dist/esm/Credentials.mjs'
import { CredentialProvider } from 'minio/dist/esm/CredentialProvider.mjs'
import { sinceBootMs } from '../monotonic-clock.ts'
import { fetchCredentials, type CredentialSource } from './fetch-credentials.ts'

type Held = { credentials: Credentials; endMs: number }

const leastPauseMs = 1000
/** Credentials that end sooner than this are not used: a request takes its time to reach the store. */
const reserveMs = 10_000

export class TemporaryCredentials extends CredentialProvider {
  readonly #source: CredentialSource
  #held: Held | undefined
  #renewal: Promise<Held> | undefined
  #reserveMs = 0
  #renewAtMs = 0

  constructor(source: CredentialSource) {
    super({ accessKey: '', secretKey: '' })
    this.#source = source
  }

  override async getCredentials() {
    return (await this.#usable()).credentials
  }

  /** How long a URL that is signed now can live. */
  async secondsLeft(): Promise<number> {
    const { endMs } = await this.#usable()
    return Math.max(1, Math.floor((endMs - sinceBootMs()) / 1000))
  }

  async #usable(): Promise<Held> {
    const nowMs = sinceBootMs()
    if (!this.#held || nowMs >= this.#held.endMs - this.#reserveMs) return this.#renew()
    // The old ones are still good, so nobody waits, and a failure costs nobody anything.
    if (nowMs >= this.#renewAtMs) void this.#renew().catch(() => undefined)
    return this.#held
  }

  /** One request for all that wait. */
  #renew(): Promise<Held> {
    this.#renewal ??= this.#fetch().finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  async #fetch(): Promise<Held> {
    const leftMs = (this.#held?.endMs ?? 0) - sinceBootMs()
    this.#renewAtMs = sinceBootMs() + Math.max(leastPauseMs, leftMs / 10)
    const { accessKey, secretKey, sessionToken, lifetimeMs } = await fetchCredentials(this.#source)
    const nowMs = sinceBootMs()
    this.#held = { credentials: new Credentials({ accessKey, secretKey, sessionToken }), endMs: nowMs + lifetimeMs }
    this.#reserveMs = Math.min(reserveMs, lifetimeMs / 10)
    // A signed URL dies with its credentials. Renewed at half their life, they let every URL live for the other half.
    this.#renewAtMs = nowMs + Math.max(leastPauseMs, lifetimeMs / 2)
    return this.#held
  }
}
