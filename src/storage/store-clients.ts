// The clients of the object store and what they sign with.
import type { ClientOptions } from 'minio'
import type { CredentialSource } from './fetch-credentials.ts'
import { MultipartClient } from './multipart.ts'
import { createStoreTransport, type StoreTimeouts } from './store-transport.ts'
import { TemporaryCredentials } from './temporary-credentials.ts'

/** Keys that somebody has set, or where to get some that end. */
export type StoreAccess =
  { accessKey: string; secretKey: string; sessionToken?: string | undefined } | { credentials: CredentialSource }

type Place = { endpoint: string; publicEndpoint: string; region: string }

export function createClients(
  { endpoint, publicEndpoint, region }: Place,
  access: StoreAccess,
  timeouts: StoreTimeouts,
) {
  const transport = createStoreTransport({ useSSL: isSecure(endpoint), timeouts })
  const renewed = 'credentials' in access ? new TemporaryCredentials(access.credentials) : null
  const signing = { region, ...(renewed ? { credentialsProvider: asProvider(renewed) } : keysOf(access)) }
  return {
    transport,
    client: createClient(endpoint, { ...signing, transport }),
    /** Only signs and sends nothing. */
    publicClient: createClient(publicEndpoint, signing),
    /** Bounds the life of a URL: the store refuses a URL whose credentials have ended. */
    urlSeconds: async (seconds: number) => (renewed ? Math.min(seconds, await renewed.secondsLeft()) : seconds),
  }
}

/** The same class at run time: the package declares its types once for `import` and once for `require`. */
const asProvider = (credentials: TemporaryCredentials) =>
  credentials as unknown as NonNullable<ClientOptions['credentialsProvider']>

function keysOf(access: StoreAccess) {
  if (!('accessKey' in access)) return {}
  const { accessKey, secretKey, sessionToken } = access
  return { accessKey, secretKey, ...(sessionToken !== undefined && { sessionToken }) }
}

const isSecure = (endpoint: string) => new URL(endpoint).protocol === 'https:'

// Without a region every signature would first ask the store for the bucket's region.
function createClient(endpoint: string, options: Omit<ClientOptions, 'endPoint'> & { region: string }) {
  const url = new URL(endpoint)
  const useSSL = isSecure(endpoint)
  const port = Number(url.port || (useSSL ? 443 : 80))
  return new MultipartClient({ ...options, endPoint: url.hostname, port, useSSL, pathStyle: true })
}
