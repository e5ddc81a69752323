// Proxies whose X-Forwarded-For is believed. Whoever connects from one of these addresses chooses the address that limits count
// and the audit trail records, so a network that also holds other programs is too wide.
import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'

/** Names of whole ranges. */
const ranges = ['loopback', 'linklocal', 'uniquelocal']
/** A network of proxies rarely has more than 256 addresses. */
const mostFreeBits = 8

export const isProxy = (text: string): boolean =>
  ranges.includes(text) || isIP(text) !== 0 || (isIP(text.split('/')[0] ?? '') !== 0 && ipaddr.isValidCIDR(text))

/** @returns those of the proxies that stand for more addresses than an operator's proxies have */
export const tooWide = (proxies: readonly string[]): string[] =>
  proxies.filter((text) => {
    if (ranges.includes(text)) return text !== 'loopback'
    if (!text.includes('/')) return false
    const [address, prefixBits] = ipaddr.parseCIDR(text)
    return (address.kind() === 'ipv4' ? 32 : 128) - prefixBits > mostFreeBits
  })
