// The cluster's certificates and kubeconfigs, by openssl: elliptic keys, so that the whole set takes half a second.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { output } from './programs.ts'
import { apiPort, type Cluster } from './settings.ts'

const daysValid = '30'
const ellipticKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export async function makeCertificates(cluster: Cluster) {
  const { pki, control, host, apiService, nodes } = cluster
  mkdirSync(pki, { recursive: true })
  const isAuthority = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']
  await request(pki, 'ca', '/CN=anneal-test-cluster', ['-x509', '-days', daysValid, ...isAuthority.flatMap(extension)])
  const local = 'IP:127.0.0.1,DNS:localhost'
  const apiNames = ['', '.default', '.default.svc'].map((suffix) => `DNS:kubernetes${suffix}`).join()
  // Includes the host's address, because the fault proxy listens there.
  const apiAddresses = `IP:${control.address},IP:${host.address},IP:${apiService}`
  await Promise.all([
    signed(pki, 'apiserver', '/CN=kube-apiserver', `${local},${apiNames},${apiAddresses}`),
    signed(pki, 'webhook', '/CN=webhook', `${local},IP:${control.address}`),
    signed(pki, 'apiserver-kubelet', '/O=system:masters/CN=apiserver-kubelet'),
    kubeconfig(cluster, 'admin', '/O=system:masters/CN=admin'),
    kubeconfig(cluster, 'kube-controller-manager', '/CN=system:kube-controller-manager'),
    kubeconfig(cluster, 'kube-scheduler', '/CN=system:kube-scheduler'),
    kubeconfig(cluster, 'kube-proxy', '/CN=system:kube-proxy'),
    ...nodes.flatMap(({ name, address }) => [
      signed(pki, `${name}-server`, `/O=system:nodes/CN=system:node:${name}`, `IP:${address},DNS:${name}`),
      kubeconfig(cluster, name, `/O=system:nodes/CN=system:node:${name}`),
    ]),
  ])
  makeServiceAccountKey(pki)
}

async function kubeconfig(cluster: Cluster, name: string, subject: string) {
  await signed(cluster.pki, name, subject)
  const inline = (file: string) => readFileSync(join(cluster.pki, file)).toString('base64')
  const server = `https://${cluster.control.address}:${apiPort}`
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'cluster',
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'user' } }],
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority-data': inline('ca.crt') } }],
    users: [
      {
        name: 'user',
        user: { 'client-certificate-data': inline(`${name}.crt`), 'client-key-data': inline(`${name}.key`) },
      },
    ],
  }
  writeFileSync(join(cluster.pki, `${name}.kubeconfig`), JSON.stringify(config), { mode: 0o600 })
}

/** A server's certificate when it has names, else a client's. */
function signed(pki: string, name: string, subject: string, names?: string) {
  const use = extension(`extendedKeyUsage=${names ? 'serverAuth' : 'clientAuth'}`)
  const alternatives = names ? extension(`subjectAltName=${names}`) : []
  const authority = ['-CA', join(pki, 'ca.crt'), '-CAkey', join(pki, 'ca.key'), '-x509', '-days', daysValid]
  return request(pki, name, subject, [...authority, ...use, ...alternatives, ...extension('basicConstraints=CA:FALSE')])
}

function request(pki: string, name: string, subject: string, more: string[]) {
  const files = ['-keyout', join(pki, `${name}.key`), '-out', join(pki, `${name}.crt`)]
  return output('openssl', ['req', '-new', ...ellipticKey, ...files, '-subj', subject, ...more])
}

function extension(text: string) {
  return ['-addext', text]
}

function makeServiceAccountKey(pki: string) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(pki, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  writeFileSync(join(pki, 'sa.pub'), createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
}
