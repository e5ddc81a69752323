/** The folder with the programs, `cni/` and `manifests/`. */
export function buildCluster(): Promise<string>
