import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import packageJson from '../../../../package.json' with { type: 'json' }
import { graderPodManifest } from '../../../../src/compute/kubernetes/python-graders/pod-manifest.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { graderPodName, newestTag } from '../../../../src/domain/python-grader.ts'
import type { PodSpec } from '../../../k8s/manifests.ts'
import { violations } from '../../../k8s/restricted.ts'

const accountId = '7b0a2f9e-0000-4000-8000-000000000001'
const grader = { source: 'def grade(sample, item): return 1' }
const spec = {
  ...{ name: graderPodName(accountId, grader), accountId, imageTag: newestTag },
  ...{ tokenSha256: 'ab', idleMs: 600_000 },
}
const images = { '2026-11-28': 'graders:1' }
const none = { trainer: {}, 'model-server': {} }

const podOf = (template: object = {}) => {
  const templates = parsePodTemplates({ ...none, 'python-grader': template, 'python-grader-images': images })
  return graderPodManifest(spec, { templates, instance: 'blue' }) ?? assert.fail('no pod')
}

describe('the pod of a Python grader', () => {
  it('is confined: no token, no right, no disk, no environment, one core, and a bound on memory, files and time', () => {
    const { spec: pod, metadata } = podOf()
    assert.deepEqual(violations(pod as unknown as PodSpec), [])
    const [container, ...others] = pod?.containers ?? []
    assert.deepEqual(others, [])
    assert.deepEqual(
      [pod?.automountServiceAccountToken, pod?.enableServiceLinks, pod?.restartPolicy, pod?.activeDeadlineSeconds],
      [false, false, 'Never', 86_400],
    )
    assert.equal(container?.securityContext?.readOnlyRootFilesystem, true)
    assert.deepEqual(pod?.volumes, [{ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(2 ** 30) } }])
    assert.deepEqual(container?.resources?.limits, {
      cpu: '1',
      memory: String(3.25 * 2 ** 30),
      'ephemeral-storage': String(2 ** 30),
    })
    assert.deepEqual(container?.env, [
      { name: 'ANNEAL_TOKEN_SHA256', value: 'ab' },
      { name: 'ANNEAL_IDLE_SECONDS', value: '600' },
    ])
    const { 'anneal.dev/account': account, ...labels } = metadata?.labels ?? {}
    assert.deepEqual(labels, {
      'app.kubernetes.io/name': 'anneal-python-grader',
      'app.kubernetes.io/instance': 'blue',
      'app.kubernetes.io/version': packageJson.version,
      'app.kubernetes.io/managed-by': 'anneal',
      'app.kubernetes.io/component': 'python-grader',
      'anneal.dev/run': spec.name,
    })
    assert.match(account ?? '', /^[0-9a-f]{32}$/, 'no id of an account')
  })

  it('has what its template adds, which cannot open it', () => {
    const { spec: pod } = podOf({
      spec: {
        runtimeClassName: 'gvisor',
        nodeSelector: { pool: 'graders' },
        automountServiceAccountToken: true,
        shareProcessNamespace: true,
        hostNetwork: true,
        hostPID: true,
        securityContext: { runAsNonRoot: false, runAsUser: 0, seccompProfile: { type: 'Unconfined' } },
        containers: [{ name: 'python-grader', securityContext: { privileged: true, readOnlyRootFilesystem: false } }],
      },
    })
    assert.deepEqual([pod?.runtimeClassName, pod?.nodeSelector], ['gvisor', { pool: 'graders' }])
    assert.deepEqual(violations(pod as unknown as PodSpec), [])
    assert.deepEqual([pod?.automountServiceAccountToken, pod?.shareProcessNamespace], [false, false])
    assert.equal(pod?.containers[0]?.securityContext?.readOnlyRootFilesystem, true)
  })

  it('leaves its user to a platform that chooses one, and is never root', () => {
    const securityContext = { runAsUser: null, runAsGroup: null, fsGroup: null }
    const { spec: pod } = podOf({ spec: { securityContext } })
    assert.deepEqual(pod?.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  })

  it('is one for each account, program and set of packages', () => {
    const names = [
      graderPodName(accountId, grader),
      graderPodName(`${accountId.slice(0, -1)}2`, grader),
      graderPodName(accountId, { source: `${grader.source} ` }),
    ]
    assert.equal(new Set(names).size, 3)
    assert.equal(graderPodName(accountId, { ...grader, image_tag: '2026-11-28' }), names[0], 'the newest by its tag')
    for (const name of names) assert.match(name, /^[a-z][a-z0-9-]{0,62}$/)
  })

  it('is none where the pod templates name no image for it', () => {
    assert.equal(graderPodManifest(spec, { templates: parsePodTemplates(none), instance: 'blue' }), null)
    const unknown = { ...none, 'python-grader-images': { '2020-01-01': 'x' } }
    assert.throws(() => parsePodTemplates(unknown), /python-grader-images/)
  })
})
