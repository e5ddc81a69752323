// `anneal bootstrap`: connects the verb to the database, and to the cluster where the key goes into a Secret.
import type { DatabaseAddress } from '../repositories/connection-options.ts'
import { connectDatabase } from '../repositories/database.ts'
import { bootstrapAccount, type Bootstrapped } from '../services/admin/bootstrap.ts'

type Input = Parameters<typeof bootstrapAccount>[0]['input']
/** A Secret of Kubernetes; `namespace` null is that of the pod, or of the current context. */
export type SecretName = { name: string; namespace: string | null }

/** @returns also whether the Secret has a key; null where none was named */
export async function bootstrapInstallation(
  at: DatabaseAddress,
  input: Input,
  secretName: SecretName | null,
): Promise<Bootstrapped & { secretHasKey: boolean | null }> {
  const database = connectDatabase(at, { poolSize: 1 })
  // Loaded only here: client-node takes half a second to load.
  const target = secretName && (await import('../compute/kubernetes/key-secret.ts')).openKeySecret(secretName)
  try {
    const done = await bootstrapAccount({ database, input, keep: async (made) => target?.put(made) })
    return { ...done, secretHasKey: target ? await target.hasKey() : null }
  } finally {
    target?.close()
    await database.close()
  }
}
