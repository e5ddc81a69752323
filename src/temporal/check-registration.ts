// Says what an existing Temporal lacks, and how an administrator adds it. Changes nothing.
import type { Connection } from '@temporalio/client'
import { searchAttributes } from '../../workflows/contract.ts'
import type { TemporalConfig } from '../config/temporal.ts'
import { grpcCodes, hasCode, retentionDays, valueTypes, withTemporal, type Registration } from './register.ts'

const typeNames = { KEYWORD: 'Keyword', INT: 'Int' }

type Missing = { what: string; temporal: string; tcld: string }

export const checkRegistration = (config: TemporalConfig, nexusTaskQueue: string): Promise<Registration> =>
  withTemporal(config, async (connection) => {
    const { namespace } = config
    const missing = await missingIn(connection, namespace)
    const endpoint = await missingEndpoint(connection, namespace, nexusTaskQueue)
    return {
      outcome: missing.length === 0 ? 'done' : 'failed',
      message: [
        missing.length === 0 ? `The namespace ${namespace} has all that Anneal needs.` : `Missing in ${namespace}:`,
        ...missing.map(inLines),
        ...(endpoint
          ? ['Missing only for jobs that workflows order through Nexus (docs/nexus.md):', inLines(endpoint)]
          : []),
        'Not to be seen from here: fairness. Set matching.enableFairness of the server, or on Temporal Cloud Fairness of the namespace.',
      ].join('\n'),
    }
  })

const inLines = ({ what, temporal, tcld }: Missing) => `- ${what}\n    ${temporal}\n    ${tcld}`

async function missingIn(connection: Connection, namespace: string): Promise<Missing[]> {
  const isThere = await hasNamespace(connection, namespace)
  const known = isThere
    ? (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes
    : undefined
  const attributes = Object.values(searchAttributes).flatMap(({ name, type }) => {
    const found = known?.[name]
    if (found === valueTypes[type]) return []
    return attribute(namespace, { name, type: typeNames[type], isOther: found !== undefined })
  })
  return isThere ? attributes : [namespaceItself(namespace), ...attributes]
}

async function hasNamespace({ workflowService }: Connection, namespace: string): Promise<boolean> {
  try {
    await workflowService.describeNamespace({ namespace })
    return true
  } catch (error) {
    if (hasCode(error, grpcCodes.notFound)) return false
    throw error
  }
}

const namespaceItself = (namespace: string): Missing => ({
  what: 'the namespace',
  temporal: `temporal operator namespace create --namespace ${namespace} --retention ${retentionDays}d`,
  tcld: `tcld namespace create --namespace ${namespace} --region REGION --retention-days ${retentionDays}`,
})

function attribute(
  namespace: string,
  { name, type, isOther }: { name: string; type: string; isOther: boolean },
): Missing {
  return {
    what: isOther
      ? `the search attribute ${name} has another type than ${type}: remove it first`
      : `the search attribute ${name}`,
    temporal: `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`,
    tcld: `tcld namespace search-attributes add --namespace ${namespace} --search-attribute "${name}=${type}"`,
  }
}

/** Null when there is one, and when this server may not be asked. */
async function missingEndpoint({ operatorService }: Connection, namespace: string, taskQueue: string) {
  const listed = await operatorService.listNexusEndpoints({ pageSize: 100 }).catch(() => null)
  const isOurs = listed?.endpoints.some(
    ({ spec }) => spec?.target?.worker?.namespace === namespace && spec.target.worker.taskQueue === taskQueue,
  )
  if (!listed || isOurs) return null
  const target = `--name anneal --target-namespace ${namespace} --target-task-queue ${taskQueue}`
  return {
    what: 'a Nexus endpoint',
    temporal: `temporal operator nexus endpoint create ${target}`,
    tcld: `tcld nexus endpoint create ${target} --allow-namespace ${namespace}`,
  }
}
