// Compares the requests of one job with the most that its ClusterQueue in Kueue can give.
import type { V1Container, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { ClusterQueue, Cohort, ResourceGroup } from './cluster-objects.ts'

/** Amounts by the name of the resource. */
export type Amounts = Record<string, number>
export type Asked = { name: string; asked: Amounts }
type Cohorts = { clusterQueues: readonly ClusterQueue[]; cohorts: readonly Cohort[] }
type FlavorQuota = { resource: string; amount: number }

/** As the API server counts a pod: containers together, and at least what each container that runs before them asks. */
export function requestsOf({ spec }: V1PodTemplateSpec): Amounts {
  const isSidecar = ({ restartPolicy }: V1Container) => restartPolicy === 'Always'
  const before = spec?.initContainers ?? []
  const together = [...(spec?.containers ?? []), ...before.filter(isSidecar)].map(requestsOfContainer)
  const names = [...together, ...before.map(requestsOfContainer), amountsOf(spec?.overhead)].flatMap(Object.keys)
  return Object.fromEntries(
    [...new Set(names)].toSorted().map((name) => {
      const sum = together.reduce((total, amounts) => total + (amounts[name] ?? 0), 0)
      const alone = before.filter((each) => !isSidecar(each)).map((each) => requestsOfContainer(each)[name] ?? 0)
      return [name, Math.max(sum, ...alone) + (amountsOf(spec?.overhead)[name] ?? 0)]
    }),
  )
}

/** A limit without a request is one, too. */
const requestsOfContainer = ({ resources }: V1Container) => amountsOf({ ...resources?.limits, ...resources?.requests })

const amountsOf = (quantities: Record<string, unknown> | undefined): Amounts =>
  Object.fromEntries(Object.entries(quantities ?? {}).map(([name, quantity]) => [name, amountOf(quantity)]))

/**
 * The jobs that the queue can never admit, with what they lack, and what the queue gives at most. All pods of a job get one
 * flavor in each group of resources, so amounts of two flavors do not add up. Limits between cohorts are left out: a job that
 * is named here is refused in any case.
 */
export function judgeQuota(queue: ClusterQueue, around: Cohorts, jobs: readonly Asked[]) {
  const groups = (queue.spec?.resourceGroups ?? []).map((group) =>
    (group.flavors ?? []).map(({ name = '', resources = [] }) => ({
      name,
      most: Object.fromEntries(
        resources.map(({ name: resource = '', nominalQuota, borrowingLimit }) => {
          const borrowed = Math.min(borrowable(queue, around, name, resource), amountOf(borrowingLimit ?? Infinity))
          return [resource, amountOf(nominalQuota) + borrowed]
        }),
      ) as Amounts,
    })),
  )
  const refused = jobs.flatMap(({ name, asked }) => {
    const lacks = groups.flatMap((flavors) => {
      const short = flavors.map(({ name: flavor, most }) => shortOf(most, asked).map((text) => `${text} of ${flavor}`))
      return short.length > 0 && short.every(({ length }) => length > 0) ? [short.flat().join(', ')] : []
    })
    return lacks.length > 0 ? [{ name, lacks: lacks.join(', ') }] : []
  })
  const most = new Map<string, number>()
  for (const [resource, amount] of groups.flat().flatMap((flavor) => Object.entries(flavor.most)))
    most.set(resource, Math.max(amount, most.get(resource) ?? 0))
  return { refused, most: Object.fromEntries(most) as Amounts }
}

const shortOf = (most: Amounts, asked: Amounts) =>
  Object.entries(most)
    .filter(([resource, amount]) => (asked[resource] ?? 0) > amount)
    .map(([resource, amount]) => `${resource} ${textOf(asked[resource] ?? 0)} > ${textOf(amount)}`)

/** Adds up what the other members of connected cohorts lend, and what these cohorts have themselves. */
function borrowable({ metadata, spec }: ClusterQueue, { clusterQueues, cohorts }: Cohorts, flavor: string, of: string) {
  if (spec?.cohortName === undefined) return 0
  const parentOf = new Map(cohorts.map((cohort) => [cohort.metadata?.name, cohort.spec?.parentName]))
  const rootOf = (name: string, depth = 0): string => {
    const parent = parentOf.get(name)
    // Kueue refuses a circle only after it was made.
    return parent === undefined || depth > parentOf.size ? name : rootOf(parent, depth + 1)
  }
  const root = rootOf(spec.cohortName)
  const lenders = [
    ...clusterQueues.filter((other) => {
      const cohort = other.spec?.cohortName
      return other.metadata?.name !== metadata?.name && cohort !== undefined && rootOf(cohort) === root
    }),
    ...cohorts.filter((cohort) => rootOf(cohort.metadata?.name ?? '') === root),
  ]
  return lenders
    .flatMap((lender) => quotasIn(lender.spec?.resourceGroups ?? [], flavor))
    .filter(({ resource }) => resource === of)
    .reduce((total, { amount }) => total + amount, 0)
}

const quotasIn = (groups: readonly ResourceGroup[], flavor: string): FlavorQuota[] =>
  groups
    .flatMap(({ flavors = [] }) => flavors.filter(({ name }) => name === flavor))
    .flatMap(({ resources = [] }) =>
      resources.map(({ name = '', nominalQuota, lendingLimit }) => ({
        resource: name,
        amount: Math.min(amountOf(nominalQuota), amountOf(lendingLimit ?? Infinity)),
      })),
    )

const factors: Record<string, number> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
}

/** A quantity of Kubernetes, such as 500m, 1e3 or 1.5Gi. client-node's reader throws at 1.5Gi. */
function amountOf(quantity: unknown): number {
  const text = typeof quantity === 'string' || typeof quantity === 'number' ? String(quantity) : '0'
  const [, number = '0', unit = ''] = /^(.*?)([numkMGTPE]?|[KMGTPE]i)$/.exec(text) ?? []
  return Number(number) * (factors[unit] ?? 1)
}

export function textOf(amount: number): string {
  const large = ['Ti', 'Gi', 'Mi'].find((unit) => amount >= (factors[unit] ?? Infinity))
  return large === undefined
    ? `${Math.round(amount * 1000) / 1000}`
    : `${round(amount / (factors[large] ?? 1))}${large}`
}

const round = (amount: number) => Math.round(amount * 10) / 10
