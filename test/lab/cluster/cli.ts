// `npm run cluster -- COMMAND`: this clone's own cluster, by hand.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { invocationDir } from '../../../tools/paths.mjs'
import { createApi } from './api.ts'
import { buildCluster, buildKueue } from './build.mjs'
import { down, up } from './lifecycle.ts'
import { createControl } from './orders.ts'
import { own } from './own-cluster.ts'
import type { Image } from './images.ts'
import { productImages } from './product-images.ts'
import { trialImages } from './trial-images.ts'
import { providePythonPackages } from './python-packages.ts'
import type { Machine } from './settings.ts'

const usage = `npm run cluster -- COMMAND
  build                           only build the programs (a quarter of an hour of processor time the first time)
  up | down                       two nodes, DNS and Kueue; several clones may each have one
  env                             lines for a shell: eval "$(npm run -s cluster -- env)"
  kubectl ...                     as its administrator
  images                          the project's own images, built by buildah, into both nodes
  trial-images                    those of the chart's trial: Postgres, S3 store, Temporal
  packages NAMESPACE              the trainer's Python packages there: a claim named python-packages
  import FILE.tar                 an image archive, into both nodes
  forward PORT                    127.0.0.1:PORT of this machine, for pods
  stop|start MACHINE DAEMON       control, node-1 or node-2; kube-apiserver, kubelet, containerd, kueue, ...
  kill|revive|cut|join NODE       a node without power; without network
  calls                           API calls that went through the fault proxy
  faults JSON                     as {"status":429,"share":0.5}; {} mends`

/* oxlint-disable no-console -- a command line */
const [command = '', ...args] = process.argv.slice(2)
const [first = '', second = ''] = args

const commands: Record<string, () => unknown> = {
  build: async () => console.log(await buildCluster(), await buildKueue()),
  up: () => up((text) => console.log(text)),
  down: () => down(own()),
  env: () => console.log(`export KUBECONFIG=${own().cluster.kubeconfig} PATH=${own().bin}:$PATH`),
  kubectl: () => {
    const env = { ...process.env, KUBECONFIG: own().cluster.kubeconfig }
    process.exitCode =
      spawnSync(join(own().bin, 'kubectl'), args, { env, stdio: 'inherit', cwd: invocationDir }).status ?? 1
  },
  images: async () => importAll(await productImages((text) => console.log(text))),
  'trial-images': async () => importAll(await trialImages((text) => console.log(text))),
  packages: () => providePythonPackages(createApi(own().cluster), first),
  import: () => control().importImage(join(invocationDir, first)),
  forward: () => control().forward(Number(first)),
  stop: () => control().stop(first as Machine, second),
  start: () => control().start(first as Machine, second),
  kill: () => control().kill(first as Machine),
  revive: () => control().revive(first as Machine),
  cut: () => control().cut(first as Machine),
  join: () => control().join(first as Machine),
  calls: async () => console.log(await control().calls()),
  faults: () => control().setFaults(JSON.parse(first)),
}

try {
  const run = commands[command]
  if (!run) console.log(usage)
  await run?.()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

function control() {
  return createControl(own().cluster)
}

async function importAll(images: Image[]) {
  for (const { archive } of images) await control().importImage(archive)
}
