// The command lines and settings of a node's daemons: containerd, kubelet, kube-proxy.
import { join } from 'node:path'
import { kubeletPort, type Cluster, type Node } from './settings.ts'

const pauseImage = 'localhost/anneal-test/pause:1'

export function containerd({ dir }: Node) {
  return ['containerd', '--config', join(dir, 'containerd.toml')]
}

export function containerdSettings({ dir, containerd: socket }: Node, plugins: string) {
  const unused = ['nri.v1.nri', 'snapshotter.v1.blockfile', 'snapshotter.v1.erofs', 'tracing.processor.v1.otlp']
  const disabled = [...unused, 'internal.v1.tracing'].map((name) => `'io.containerd.${name}'`).join()
  return `version = 3
root = '${dir}/containerd/root'
state = '${dir}/containerd/state'
disabled_plugins = [${disabled}]
[grpc]
  address = '${socket}'
[plugins.'io.containerd.internal.v1.opt']
  path = '${dir}/containerd/opt'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${pauseImage}'
[plugins.'io.containerd.cri.v1.runtime']
  # Works without the right to lower scores (CAP_SYS_RESOURCE).
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['${plugins}']
    conf_dir = '${dir}/cni'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

export function podNetwork({ dir, pods, address }: Node) {
  const ipam = {
    type: 'host-local',
    dataDir: join(dir, 'addresses'),
    ranges: [[{ subnet: pods, gateway: address }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  const bridge = { type: 'bridge', bridge: 'pods0', isGateway: true, ipMasq: false, hairpinMode: true, ipam }
  return { cniVersion: '1.0.0', name: 'pods', plugins: [bridge] }
}

export function kubelet({ pki }: Cluster, { name, dir, address }: Node) {
  return [
    'kubelet',
    ...['--config', join(dir, 'kubelet.json'), '--kubeconfig', join(pki, `${name}.kubeconfig`)],
    ...['--root-dir', join(dir, 'kubelet'), '--cert-dir', join(dir, 'kubelet/pki')],
    ...['--hostname-override', name, '--node-ip', address],
  ]
}

export function kubeletSettings({ pki, control }: Cluster, { name, dir, cgroup, containerd: socket }: Node) {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    port: kubeletPort,
    healthzPort: 0,
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: join(pki, 'ca.crt') } },
    tlsCertFile: join(pki, `${name}-server.crt`),
    tlsPrivateKeyFile: join(pki, `${name}-server.key`),
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    // Without this setting the kubelet refuses version 1 of control groups.
    failCgroupV1: false,
    failSwapOn: false,
    // A lower score needs CAP_SYS_RESOURCE.
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    podLogsDir: join(dir, 'pod-logs'),
    volumePluginDir: join(dir, 'kubelet/plugins'),
    resolvConf: '',
    clusterDNS: [control.address],
    clusterDomain: 'cluster.local',
    enableControllerAttachDetach: false,
    maxPods: 60,
    serializeImagePulls: false,
    // Never pull: no registry has the images.
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '64Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    syncFrequency: '10s',
    // After an outage of the API server its controllers may report live nodes as lost. This corrects it before pods are evicted.
    nodeStatusUpdateFrequency: '2s',
    // The lease is renewed every second, so that a busy node does not count as lost after eight seconds.
    nodeLeaseDurationSeconds: 4,
    fileCheckFrequency: '0s',
  }
}

export function kubeProxy({ pki, podRange }: Cluster, machine: string) {
  return [
    'kube-proxy',
    ...['--kubeconfig', join(pki, 'kube-proxy.kubeconfig'), '--hostname-override', machine],
    ...['--proxy-mode', 'nftables', '--cluster-cidr', podRange],
    // 0 keeps the host's limits.
    ...['--conntrack-max-per-core', '0', '--conntrack-min', '0'],
    ...['--conntrack-tcp-timeout-established', '0s', '--conntrack-tcp-timeout-close-wait', '0s'],
  ]
}
