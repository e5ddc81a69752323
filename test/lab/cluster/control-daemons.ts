// The command lines of the control machine's daemons.
import { join } from 'node:path'
import { apiPort, type Cluster } from './settings.ts'

export const dnsPort = 53
const etcdUrl = 'http://127.0.0.1:2379'
const etcdPeerUrl = 'http://127.0.0.1:2380'

export function etcd({ dir }: Cluster) {
  return [
    'etcd',
    ...['--data-dir', join(dir, 'etcd'), '--unsafe-no-fsync', '--log-level', 'warn'],
    ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...['--listen-peer-urls', etcdPeerUrl, '--initial-advertise-peer-urls', etcdPeerUrl],
    ...['--initial-cluster', `default=${etcdPeerUrl}`],
  ]
}

export function apiServer({ pki, control, serviceRange }: Cluster) {
  const file = (name: string) => join(pki, name)
  return [
    'kube-apiserver',
    ...['--etcd-servers', etcdUrl, '--advertise-address', control.address, '--secure-port', String(apiPort)],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--client-ca-file', file('ca.crt'), '--authorization-mode', 'Node,RBAC'],
    ...['--enable-admission-plugins', 'NodeRestriction', '--allow-privileged=true'],
    ...['--kubelet-client-certificate', file('apiserver-kubelet.crt')],
    ...['--kubelet-client-key', file('apiserver-kubelet.key'), '--kubelet-certificate-authority', file('ca.crt')],
    ...['--kubelet-preferred-address-types', 'InternalIP', '--service-cluster-ip-range', serviceRange],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...['--service-account-key-file', file('sa.pub'), '--service-account-signing-key-file', file('sa.key')],
    // Without these names the controllers log an error about the front proxy for ever.
    ...['--requestheader-client-ca-file', file('ca.crt'), '--requestheader-allowed-names', 'front-proxy'],
    ...['--requestheader-username-headers', 'X-Remote-User', '--requestheader-group-headers', 'X-Remote-Group'],
    ...['--requestheader-extra-headers-prefix', 'X-Remote-Extra-'],
  ]
}

export function controllerManager({ pki }: Cluster) {
  return [
    'kube-controller-manager',
    ...asUser(pki, 'kube-controller-manager'),
    ...['--leader-elect=false', '--bind-address', '127.0.0.1', '--use-service-account-credentials=true'],
    ...['--service-account-private-key-file', join(pki, 'sa.key'), '--root-ca-file', join(pki, 'ca.crt')],
    // A lost node is noticed in seconds. A real cluster takes most of a minute.
    ...['--node-monitor-period=1s', '--node-monitor-grace-period=8s'],
  ]
}

export function scheduler({ pki }: Cluster) {
  return [
    'kube-scheduler',
    ...asUser(pki, 'kube-scheduler'),
    ...['--leader-elect=false', '--bind-address', '127.0.0.1'],
  ]
}

export function coreDns({ dir }: Cluster) {
  return ['coredns', '-conf', join(dir, 'Corefile')]
}

export function corefile({ pki, control }: Cluster) {
  const kubeconfig = join(pki, 'admin.kubeconfig')
  const plugins = [
    `bind ${control.address}`,
    'errors',
    `kubernetes cluster.local {\n kubeconfig ${kubeconfig} cluster\n}`,
  ]
  return `cluster.local:${dnsPort} {\n${plugins.join('\n')}\n}\n`
}

function asUser(pki: string, name: string) {
  const kubeconfig = join(pki, `${name}.kubeconfig`)
  return ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].flatMap((flag) => [
    `--${flag}`,
    kubeconfig,
  ])
}
