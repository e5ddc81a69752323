// Which addresses may be called on a user's word: those of the internet, and what the operator adds.
import { BlockList, isIP } from 'node:net'

/** Not of the internet (IANA's special-purpose registry), and the host of Azure's machines. */
const closed4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/** All of the internet lies here; IPv4 in another guise (mapped, translated) does not. */
const open6 = '2000::/3'
/** Within it: tunnels and other protocols, examples, 6to4, examples. */
const closed6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

export type CallableAddresses = (address: string) => boolean

/**
 * @param more networks such as `10.1.0.0/16`, which are called though they are not of the internet
 * @throws Error for what is no network
 */
export function callableAddresses(more: readonly string[] = []): CallableAddresses {
  const added = networks(more)
  return (address) => isIP(address) !== 0 && (has(added, address) || isOfInternet(address))
}

const closed = networks([...closed4, ...closed6])
const internet6 = networks([open6])

const isOfInternet = (address: string) => !has(closed, address) && (isIP(address) === 4 || has(internet6, address))

const has = (list: BlockList, address: string) => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')

function networks(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
    if (isIP(address) === 0) throw new Error(`${text} is not a network such as 10.1.0.0/16`)
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
