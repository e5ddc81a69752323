// The format in which a model writes calls of functions, as its server tells it. The template belongs to the base model.
import { callFormat, callFormatNames, type CallFormat } from '../domain/tools/call-format.ts'
import type { Accepted, Servers } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { requestCallFormat } from './engine-client.ts'
import { workOf } from './text-bounds.ts'

const known = new WeakMap<Servers['endpoints'], Map<string, CallFormat>>()

export async function findCallFormat(request: Accepted): Promise<CallFormat> {
  const { servers, baseModel, signal } = request
  const formats = known.get(servers.endpoints) ?? new Map<string, CallFormat>()
  known.set(servers.endpoints, formats)
  const found = formats.get(baseModel.name)
  if (found) return found
  const ofBase = { ...request, adapter: null }
  const { name, token } = await callWithFailover(ofBase, workOf([''], 0), signal, requestCallFormat)
  // A server of a newer release may know other formats.
  const format = callFormat(callFormatNames.find((each) => each === name) ?? 'hermes', token)
  formats.set(baseModel.name, format)
  return format
}
