export function buildCluster(): Promise<string>
export function buildKueue(): Promise<string>
