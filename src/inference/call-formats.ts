// The format in which a model writes calls of functions, as its server tells it. The template belongs to the base model.
import { callFormat, callFormatNames, type CallFormat } from '../domain/tools/call-format.ts'
import { onServer, type Servers, type Target } from './call-with-failover.ts'
import { requestCallFormat } from './engine-client.ts'
import { workOf } from './text-bounds.ts'

const known = new WeakMap<Servers['endpoints'], Map<string, CallFormat>>()

export async function findCallFormat(
  servers: Servers,
  { baseModel, accountId, meter }: Omit<Target, 'adapter'>,
  signal: AbortSignal,
): Promise<CallFormat> {
  const formats = known.get(servers.endpoints) ?? new Map<string, CallFormat>()
  known.set(servers.endpoints, formats)
  const found = formats.get(baseModel.name)
  if (found) return found
  const target = { baseModel, adapter: null, accountId, meter }
  const { name, token } = await onServer(servers, target, workOf([''], 0), signal, (endpoint, _model, callSignal) =>
    requestCallFormat(endpoint, callSignal),
  )
  // A server of a newer release may know other formats.
  const format = callFormat(callFormatNames.find((each) => each === name) ?? 'hermes', token)
  formats.set(baseModel.name, format)
  return format
}
