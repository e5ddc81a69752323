// The cluster's programs, built from Go's module proxy into the per-user cache: whole or absent, one build at a time.
// An interrupted build goes on where it was, because Go's own cache keeps what it compiled.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digest, toolPath } from '../../../tools/paths.mjs'
import { cached } from '../../../tools/setup/cache.mjs'
import { firstLine, runCommand } from '../../../tools/setup/command.mjs'
import { SetupError } from '../../../tools/setup/report.mjs'

const modules = fileURLToPath(new URL('go', import.meta.url))
const step = 'cluster'
const slim = '-s -w'
// Without inlining and debug information the compiler takes a quarter less time, as it does with less garbage collection.
const compiler = '-gcflags=all=-l -dwarf=false'
const containerdTags = 'no_btrfs,no_devmapper,no_zfs,no_aufs,netgo,osusergo'
const kubernetesCommands = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'kubelet',
  'kubectl',
]

/** @returns {Promise<string>} the folder with the programs and `cni/` */
export function buildCluster() {
  return cached(step, `cluster-${digest(...sources('kube', 'runtime', 'cni', 'pause')).slice(0, 16)}`, make)
}

/** @returns {Promise<string>} the folder with `kueue` and `kueue.json`, its definitions and webhooks */
export function buildKueue() {
  return cached(step, `cluster-kueue-${digest(...sources('kueue')).slice(0, 16)}`, async (target) => {
    requireGo()
    await build(target, 'kueue', 'kueue', 'sigs.k8s.io/kueue/cmd/kueue')
    copyManifests(target)
  })
}

function sources(...names) {
  const files = names.flatMap((name) =>
    readdirSync(join(modules, name), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
  )
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted()
  return [import.meta.filename, ...paths].map((path) => readFileSync(path))
}

function requireGo() {
  const go = /go(\d+\.\d+(\.\d+)?)/.exec(firstLine('go', ['version'], { cwd: join(modules, 'runtime') }) ?? '')?.[1]
  if (!go) throw new SetupError('The test cluster needs Go 1.26.6 or newer to build. Install Go: https://go.dev/dl')
}

async function make(target) {
  requireGo()
  const kubernetes = versionOf('kube', 'k8s.io/kubernetes')
  await build(target, 'kube', 'kube', '.', versionFlags(kubernetes), 'providerless,dockerless')
  for (const name of kubernetesCommands) symlinkSync('kube', join(target, name))
  // In the module of Kubernetes: most of its packages are compiled by then.
  await build(target, 'kube', 'coredns', './coredns')
  await buildContainerRuntime(target)
}

async function buildContainerRuntime(target) {
  const containerd = 'github.com/containerd/containerd/v2'
  const flags = `${slim} -X ${containerd}/version.Version=${versionOf('runtime', containerd)}`
  for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr'])
    await build(target, 'runtime', name, `${containerd}/cmd/${name}`, flags, containerdTags)
  const plugins = 'github.com/containernetworking/plugins/plugins'
  mkdirSync(join(target, 'cni'))
  for (const [name, kind] of Object.entries({ bridge: 'main', 'host-local': 'ipam', loopback: 'main' }))
    await build(target, 'cni', `cni/${name}`, `${plugins}/${kind}/${name}`)
  await build(target, 'pause', 'pause', '.')
}

async function build(target, module, name, source, flags = slim, tags = '') {
  const output = join(target, name)
  await runCommand(
    step,
    ['go', 'build', '-trimpath', '-buildvcs=false', '-tags', tags, compiler, '-ldflags', flags, '-o', output, source],
    {
      doing: `building ${name}${expected[name] ? ` (${expected[name]} the first time on two cores)` : ''}`,
      cwd: join(modules, module),
      env: { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off', CGO_ENABLED: '0', GOGC: '400' },
      needs: { space: '6 GB', dir: "Go's caches (go env GOCACHE GOMODCACHE)" },
      hint: "Check that Go's module proxy answers (go env GOPROXY), then run this again; what was built is kept.",
    },
  )
}

const expected = {
  kube: '4 minutes',
  containerd: '1 minute',
  kueue: '3 minutes',
}

/** Without a version clients, and Kueue, take the server for v0.0.0. */
function versionFlags(version) {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version)
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean', gitCommit: '0' }
  const set = Object.entries({ ...values, buildDate: '1970-01-01T00:00:00Z' })
  return [slim, ...set.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)].join(' ')
}

/** Kueue's definitions and webhooks, as JSON: one array of objects. */
function copyManifests(target) {
  const dir = list('kueue', '{{.Dir}}', 'sigs.k8s.io/kueue')
  const definitions = join(dir, 'config/components/crd/bases')
  const files = readdirSync(definitions)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(definitions, name))
  const all = [...files, join(dir, 'config/components/webhook/manifests.yaml')]
  const input = all.map((file) => readFileSync(file, 'utf8')).join('\n---\n')
  const toJson = 'import json, sys, yaml; print(json.dumps([d for d in yaml.safe_load_all(sys.stdin) if d]))'
  const json = execFileSync(toolPath('python'), ['-c', toJson], { input, maxBuffer: 64 << 20 })
  writeFileSync(join(target, 'kueue.json'), json)
}

function versionOf(module, name) {
  return list(module, '{{.Version}}', name)
}

function list(module, format, name) {
  const env = { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off' }
  return execFileSync('go', ['list', '-m', '-f', format, name], {
    cwd: join(modules, module),
    env,
    encoding: 'utf8',
  }).trim()
}
