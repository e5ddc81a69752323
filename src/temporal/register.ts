// Creates in an existing Temporal what the embedded one is started with: the namespace and the search attributes.
import { Connection, isGrpcServiceError } from '@temporalio/client'
import { searchAttributes } from '../../workflows/contract.ts'
import type { TemporalConfig } from '../config/temporal.ts'

/** From google.golang.org/grpc/codes and temporal.api.enums.v1.IndexedValueType. */
export const grpcCodes = { alreadyExists: 6, notFound: 5 }
export const valueTypes = { KEYWORD: 2, INT: 3 }

export const retentionDays = 30
const retentionSeconds = retentionDays * 24 * 60 * 60
/** A new namespace reaches every part of the server only after a while. */
const maxWaitMs = 30_000
const retryMs = 500

export type Registration = { outcome: 'done' | 'failed' | 'unreachable'; message: string }

export const registerWithTemporal = (config: TemporalConfig): Promise<Registration> =>
  withTemporal(config, async (connection) => {
    const { namespace } = config
    const isNew = await ensureNamespace(connection, namespace)
    const added = await untilKnown(() => ensureSearchAttributes(connection, namespace))
    const what = [...(isNew ? ['the namespace'] : []), ...added]
    return {
      outcome: 'done',
      message:
        what.length === 0
          ? `The namespace ${namespace} needs no change.`
          : `Created in ${namespace}: ${what.join(', ')}.`,
    }
  })

/** Says in words when Temporal does not answer, or refuses what `work` asks. */
export async function withTemporal(
  { address, connectionOptions }: TemporalConfig,
  work: (connection: Connection) => Promise<Registration>,
): Promise<Registration> {
  let connection: Connection
  try {
    connection = await Connection.connect({ ...connectionOptions, connectTimeout: '10s' })
  } catch {
    return {
      outcome: 'unreachable',
      message: `Temporal does not answer at ${address}. Start it, or set TEMPORAL_ADDRESS.`,
    }
  }
  try {
    return await work(connection)
  } catch (error) {
    const reason = isGrpcServiceError(error) ? error.details : String(error)
    return { outcome: 'failed', message: `Temporal at ${address} refused the request: ${reason}` }
  } finally {
    await connection.close()
  }
}

/** @returns whether it is new */
async function ensureNamespace({ workflowService }: Connection, namespace: string): Promise<boolean> {
  try {
    await workflowService.describeNamespace({ namespace })
    return false
  } catch (error) {
    if (!hasCode(error, grpcCodes.notFound)) throw error
  }
  try {
    const workflowExecutionRetentionPeriod = { seconds: retentionSeconds as never }
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
    return true
  } catch (error) {
    if (hasCode(error, grpcCodes.alreadyExists)) return false
    throw error
  }
}

/** @returns the names of those that were missing */
async function ensureSearchAttributes({ operatorService }: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  const missing = Object.values(searchAttributes).filter(({ name }) => customAttributes?.[name] === undefined)
  if (missing.length === 0) return []
  await operatorService
    .addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map(({ name, type }) => [name, valueTypes[type]])),
    })
    .catch((error: unknown) => {
      // Another process added them first.
      if (!hasCode(error, grpcCodes.alreadyExists)) throw error
    })
  return missing.map(({ name }) => name)
}

async function untilKnown<T>(act: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + maxWaitMs; ;) {
    try {
      return await act()
    } catch (error) {
      if (!hasCode(error, grpcCodes.notFound) || Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

export const hasCode = (error: unknown, code: number) => isGrpcServiceError(error) && (error.code as number) === code
