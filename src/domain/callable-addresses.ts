// Decides which addresses a webhook may call: public ones, and the networks that the operator adds.
import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'

type Network = ReturnType<typeof ipaddr.parseCIDR>

/** Answers inside every virtual machine of Azure, though the address itself is public. */
const azureHost = ipaddr.parseCIDR('168.63.129.16/32')
/** IANA has assigned public IPv6 addresses only here. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3')

export type CallableAddresses = (address: string) => boolean

/**
 * @param more private networks such as `10.1.0.0/16` that may be called as well
 * @throws Error naming the text that is no network
 */
export function callableAddresses(more: readonly string[] = []): CallableAddresses {
  const added = more.map(parseNetwork)
  return (text) => {
    // ipaddr.js also reads shorthand such as 127.1.
    if (isIP(text) === 0) return false
    const address = ipaddr.parse(text)
    return added.some((network) => isIn(address, network)) || isPublic(address)
  }
}

const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
  address.range() === 'unicast' && (address.kind() === 'ipv4' ? !isIn(address, azureHost) : isIn(address, publicIpv6))

const isIn = (address: ipaddr.IPv4 | ipaddr.IPv6, network: Network) =>
  address.kind() === network[0].kind() && address.match(network)

function parseNetwork(text: string): Network {
  if (isIP(text.split('/')[0] ?? '') !== 0 && ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  throw new Error(`${text} is not a network such as 10.1.0.0/16`)
}
