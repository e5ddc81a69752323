// Translates NetworkPolicies into rules for nftables, as far as k8s/ and the tests use them. As with every network plug-in,
// packets from a node to its pods always pass, and so do answers to packets that passed.

type Expression = { key: string; operator: string; values?: string[] }
type Selector = { matchLabels?: Record<string, string>; matchExpressions?: Expression[] }
type Peer = { podSelector?: Selector; namespaceSelector?: Selector; ipBlock?: { cidr: string; except?: string[] } }
type Port = { port?: number | string; endPort?: number; protocol?: string }
type Rule = { from?: Peer[]; to?: Peer[]; ports?: Port[] }
type Labels = Record<string, string>

export type Objects = {
  namespaces: { metadata: { name: string; labels?: Labels } }[]
  pods: {
    metadata: { namespace: string; labels?: Labels }
    spec: { hostNetwork?: boolean }
    status: { podIP?: string; phase?: string }
  }[]
  policies: {
    metadata: { namespace: string }
    spec: { podSelector?: Selector; policyTypes?: string[]; ingress?: Rule[]; egress?: Rule[] }
  }[]
}

const table = 'cluster-policies'

const directions = [
  { name: 'Ingress', chain: 'ingress', own: 'daddr', other: 'saddr', side: 'from' },
  { name: 'Egress', chain: 'egress', own: 'saddr', other: 'daddr', side: 'to' },
] as const

/** The whole table, which replaces the one before. `nft -f` reads it. */
export function rulesOf({ namespaces, pods, policies }: Objects): string {
  const labelsOf = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  const hasEnded = ({ status }: Objects['pods'][number]) => !/Pending|Running/.test(status.phase ?? '')
  // A pod that has ended, or is only reported as ended, counts until another pod has its address.
  const byAddress = new Map(
    pods
      .filter(({ spec, status }) => status.podIP && !spec.hostNetwork)
      .toSorted((one, other) => Number(hasEnded(other)) - Number(hasEnded(one)))
      .map((pod) => [pod.status.podIP, pod]),
  )
  const live = [...byAddress.values()]
  const addresses = (chosen: Objects['pods']) => chosen.map(({ status }) => status.podIP ?? '').toSorted()
  const podsWith = (selector: Selector = {}) => live.filter(({ metadata }) => matches(selector, metadata.labels ?? {}))

  function addressesOf(peer: Peer, namespace: string): string[] {
    if (peer.ipBlock) return [peer.ipBlock.cidr]
    const isOf = (name: string) =>
      peer.namespaceSelector ? matches(peer.namespaceSelector, labelsOf.get(name) ?? {}) : name === namespace
    return addresses(podsWith(peer.podSelector).filter(({ metadata }) => isOf(metadata.namespace)))
  }

  function chainOf({ name, chain, own, other, side }: (typeof directions)[number]): string[] {
    const closed = new Set<string>()
    const allowed: string[] = []
    for (const { metadata, spec } of policies) {
      if (!(spec.policyTypes ?? ['Ingress', ...(spec.egress ? ['Egress'] : [])]).includes(name)) continue
      const chosen = podsWith(spec.podSelector).filter((pod) => pod.metadata.namespace === metadata.namespace)
      if (chosen.length === 0) continue
      for (const address of addresses(chosen)) closed.add(address)
      for (const rule of spec[chain] ?? []) {
        const peers = rule[side]?.flatMap((peer) => {
          const among = addressesOf(peer, metadata.namespace)
          const except = peer.ipBlock?.except
          if (among.length === 0) return []
          return [` ip ${other} ${oneOf(among)}${except ? ` ip ${other} != ${oneOf(except)}` : ''}`]
        })
        for (const peer of peers ?? [''])
          for (const port of rule.ports?.map(portOf) ?? [''])
            allowed.push(`ip ${own} ${oneOf(addresses(chosen))}${peer} ${port} return`)
      }
    }
    return [...allowed, ...(closed.size > 0 ? [`ip ${own} ${oneOf([...closed])} drop`] : [])]
  }

  const chain = (name: string, rules: string[]) => [` chain ${name} {`, ...rules.map((rule) => `  ${rule}`), ' }']
  const hook = (name: string, chains: string[]) =>
    chain(name, [
      `type filter hook ${name} priority 10; policy accept;`,
      'ct state established,related accept',
      ...chains.map((to) => `jump ${to}`),
    ])
  return [
    `table ip ${table}`,
    `delete table ip ${table}`,
    `table ip ${table} {`,
    ...directions.flatMap((direction) => chain(direction.chain, chainOf(direction))),
    ...hook('forward', ['egress', 'ingress']),
    // This rule lets a pod call its node.
    ...hook('input', ['egress']),
    '}\n',
  ].join('\n')
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator === 'Exists') return labels[key] !== undefined
      if (operator === 'In') return values.includes(labels[key] ?? '')
      if (operator === 'NotIn') return !values.includes(labels[key] ?? '')
      throw new Error(`A network policy here has no operator ${operator}.`)
    })
  )
}

function portOf({ port, endPort, protocol = 'TCP' }: Port): string {
  if (typeof port === 'string') throw new Error('A network policy here names no ports.')
  const name = protocol.toLowerCase()
  return port === undefined ? `meta l4proto ${name}` : `${name} dport ${port}${endPort ? `-${endPort}` : ''}`
}

function oneOf(values: string[]): string {
  return `{ ${[...new Set(values)].join(', ')} }`
}
