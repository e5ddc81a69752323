// Helm, built from Go's module proxy into the per-user cache. Apart from the cluster's programs, because the manifests are
// rendered with it on machines that never run a cluster.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDir, digest } from '../../../tools/paths.mjs'
import { cached } from '../../../tools/setup/cache.mjs'
import { runCommand } from '../../../tools/setup/command.mjs'
import { findGo } from '../../../tools/setup/go.mjs'

const module = fileURLToPath(new URL('go/helm', import.meta.url))
const package_ = 'helm.sh/helm/v4/cmd/helm'
const sources = ['go.mod', 'go.sum'].map((name) => readFileSync(join(module, name)))
const entry = `helm-${digest(...sources).slice(0, 16)}`

/** Where `buildHelm` leaves the program. */
export const helmPath = join(cacheDir, entry, 'helm')

/** @returns {Promise<string>} the program */
export async function buildHelm() {
  await cached('helm', entry, async (target) => {
    const go = await findGo(target)
    await runCommand(
      'helm',
      [go.command, 'build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(target, 'helm'), package_],
      {
        doing: 'building helm (2 minutes the first time on two cores)',
        cwd: module,
        env: { ...process.env, ...go.env, GOFLAGS: '-mod=readonly', GOWORK: 'off', CGO_ENABLED: '0' },
        needs: { space: '3 GB', dir: "Go's caches (go env GOCACHE GOMODCACHE)" },
        hint: "Check that Go's module proxy answers (go env GOPROXY), then run this again; what was built is kept.",
      },
    )
  })
  return helmPath
}
