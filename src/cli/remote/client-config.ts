import { readClientConfig } from '../../config/client.ts'
import { UsageError } from '../usage-error.ts'

export function clientConfig() {
  try {
    return readClientConfig()
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}
