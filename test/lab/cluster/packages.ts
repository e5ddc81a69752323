// The distribution's packages that a cluster needs: installed as root on a Debian-like machine, otherwise named in an error.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { output } from './programs.ts'

const packageOf = {
  runc: 'runc',
  busybox: 'busybox-static',
  debootstrap: 'debootstrap',
  buildah: 'buildah',
  nft: 'nftables',
  ip: 'iproute2',
  openssl: 'openssl',
}

export async function requirePackages(say: (text: string) => void) {
  const missing = Object.entries(packageOf).flatMap(([program, name]) => (isInstalled(program) ? [] : [name]))
  if (process.getuid?.() !== 0) throw new Error('The test cluster makes namespaces and mounts: run this as root.')
  if (missing.length === 0) return
  if (!isInstalled('apt-get')) throw new Error(`Install ${missing.join(', ')}, then run this again.`)
  say(`installing ${missing.join(', ')} with apt-get`)
  await output('apt-get', ['update', '-qq'])
  await output('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing])
}

function isInstalled(program: string) {
  const dirs = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']
  return dirs.some((dir) => existsSync(join(dir, program)))
}
