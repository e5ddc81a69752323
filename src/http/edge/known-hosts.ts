// Which Host headers a port accepts that answers without a key. A page of another site can make its own name resolve to a private
// address (DNS rebinding), and then read answers as its own. The browser still sends the site's name as Host.
import { isIP } from 'node:net'

export type IsKnownHost = (host: string | undefined) => boolean

/**
 * Known are addresses, names without a dot, names that no public DNS has, and `names`. A request without a Host is from no
 * browser.
 */
export function knownHosts(names: readonly string[] = []): IsKnownHost {
  const known = new Set(names.map((name) => name.toLowerCase()))
  return (host) => {
    if (host === undefined) return true
    const name = nameIn(host)
    return name !== null && (isIP(name) !== 0 || isPrivateName(name) || known.has(name))
  }
}

/** Services of a cluster, containers of one network, and this machine. */
const isPrivateName = (name: string) =>
  /^[a-z\d_-]+$/.test(name) || /\.(localhost|internal|svc|svc\.cluster\.local)$/.test(name)

/** The name or address without its port. Null for what is no host. */
function nameIn(host: string): string | null {
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+?)\.?)(?::\d{1,5})?$/.exec(host.toLowerCase()) ?? []
  return address ?? name ?? null
}

export const unknownHost =
  'This port does not know the host name of the request. Use the address of the service, or add the name to ANNEAL_ADMIN_HOSTS.'
