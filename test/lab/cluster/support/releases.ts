// Releases of the chart on the test cluster, by the real helm, with pods that run: images, values, objects and the API of each.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '../../../../src/embedded/connection.ts'
import { root } from '../../../../tools/paths.mjs'
import { kubectl as kubectlPath } from '../../../k8s/manifests.ts'
import { createApi as createClient } from '../../../support/stack.ts'
import { buildHelm } from '../build-helm.mjs'
import { output } from '../programs.ts'
import { productImages } from '../product-images.ts'
import { pythonPackages } from '../python-packages.ts'
import { trialImages } from '../trial-images.ts'
import { cluster, control, until } from './cluster.ts'

const chart = join(root, 'k8s/chart')
const helmPath = await buildHelm()
/** All that the chart and runs make. */
const kinds =
  'deployments,jobs,pods,services,serviceaccounts,configmaps,secrets,roles,rolebindings,networkpolicies,' +
  'poddisruptionbudgets,resourcequotas,limitranges,persistentvolumeclaims,namespaces'

const onCluster = ['--kubeconfig', cluster.kubeconfig]
const helm = (...args: string[]) => output(helmPath, [...args, ...onCluster])
export const kubectl = (...args: string[]) =>
  output(kubectlPath ?? 'kubectl', ['--kubeconfig', cluster.kubeconfig, ...args])

export async function importImages(say: (text: string) => void) {
  for (const { archive } of [...(await productImages(say)), ...(await trialImages(say))])
    await control.importImage(archive)
}

/** What a values file says, beside `trial.enabled`, for images and Python packages of this machine. */
async function valuesOf(release: string) {
  const own = (name: string) => `localhost/anneal-test/${name}`
  const runs = `${release}-runs`
  const template = (name: string) => ({
    spec: {
      containers: [
        {
          name,
          resources: { requests: { cpu: '200m' } },
          env: [
            { name: 'PYTHONPATH', value: '/opt/anneal:/packages' },
            { name: 'ANNEAL_MODELS_DIR', value: '/opt/anneal' },
          ],
          volumeMounts: [{ name: 'packages', mountPath: '/packages', readOnly: true }],
        },
      ],
      volumes: [{ name: 'packages', persistentVolumeClaim: { claimName: 'python-packages', readOnly: true } }],
    },
  })
  return {
    image: { repository: own('anneal'), tag: '1' },
    runtimeImage: { repository: own('runtime'), tag: '1' },
    trial: {
      persistent: false,
      postgresImage: own('postgres:1'),
      storeImage: own('s3:1'),
      temporalImage: own('temporal:1'),
    },
    networkPolicies: { dns: { addresses: [`${cluster.control.address}/32`] } },
    podTemplates: { templates: { trainer: template('trainer'), 'model-server': template('model-server') } },
    extraObjects: await pythonPackages(runs),
  }
}

/** A release in a namespace of its own name, with the servers of a trial. */
export async function openRelease(release: string) {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-release-'))
  const values = join(dir, 'values.yaml')
  writeFileSync(values, JSON.stringify(await valuesOf(release)))
  const put = (verb: 'install' | 'upgrade', ...more: string[]) => {
    const fixed = [
      '--namespace',
      release,
      '--set',
      'trial.enabled=true',
      '--values',
      values,
      '--wait',
      '--timeout',
      '5m',
    ]
    return helm(verb, release, chart, ...fixed, ...more)
  }
  const objects = async () => {
    const names = await kubectl('get', kinds, '-A', '-l', `app.kubernetes.io/instance=${release}`, '-o', 'name')
    return names.split('\n').filter((name) => name !== '')
  }
  const name = release.includes('anneal') ? release : `${release}-anneal`

  return {
    runs: `${release}-runs`,
    install: () => put('install', '--create-namespace'),
    upgrade: (...more: string[]) => put('upgrade', ...more),
    rollback: () => helm('rollback', release, '--namespace', release, '--wait', '--timeout', '5m'),
    /** Runs the doctor, fine-tunes, and asks the tuned model. @returns also what the pods said: Helm writes it as errors */
    test: () =>
      output(helmPath, ['test', release, '--namespace', release, '--timeout', '8m', ...onCluster], {
        withErrors: true,
      }),
    objects,
    /** The API as the holder of the first key, past no port-forward: services are reachable from this machine. */
    async client() {
      const address = await kubectl('-n', release, 'get', 'service', `${name}-api`, '-o', 'jsonpath={.spec.clusterIP}')
      const path = ['-n', release, 'get', 'secret', 'anneal-first-key', '-o', 'jsonpath={.data.ANNEAL_API_KEY}']
      const key = await until('the key of the bootstrap', () => kubectl(...path))
      const at = { apiUrl: `http://${address}:8080`, baseModel: 'anneal-tiny' } as Connection
      return createClient(Buffer.from(key, 'base64').toString(), () => at)
    },
    /** Resolves when nothing of it is left, but the empty namespace that `--create-namespace` made. */
    async uninstall() {
      await helm('uninstall', release, '--namespace', release, '--wait', '--timeout', '5m')
      await until(`nothing of ${release} is left`, async () => (await objects()).length === 0)
    },
    async remove() {
      await kubectl('delete', 'namespace', release, `${release}-runs`, '--ignore-not-found')
      await kubectl('delete', 'persistentvolume', `python-packages-${release}-runs`, '--ignore-not-found')
      rmSync(dir, { recursive: true })
    },
  }
}
