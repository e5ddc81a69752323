import { loadClientConnectConfig } from '@temporalio/envconfig'

export type TemporalConfig = ReturnType<typeof readTemporalConfig>

/**
 * From the variables that Temporal's own tools read: TEMPORAL_ADDRESS, _NAMESPACE, _API_KEY, _TLS_CLIENT_CERT_PATH and so
 * on. Only what speaks to Temporal asks for them, since only that has the files that they name.
 * @throws Error that says which of them is wrong
 */
export function readTemporalConfig(environment: NodeJS.ProcessEnv = process.env) {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ disableFile: true, overrideEnvVars })
    const address = connectionOptions.address ?? '127.0.0.1:7233'
    return { address, namespace: namespace ?? 'default', connectionOptions: { ...connectionOptions, address } }
  } catch (error) {
    throw new Error(`The settings TEMPORAL_... are wrong: ${(error as Error).message}`, { cause: error })
  }
}
