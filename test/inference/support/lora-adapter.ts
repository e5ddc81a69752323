// A LoRA adapter of the default base, small and loud: its answers differ from the base's.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { createRandom } from './random.ts'

const rank = 2

export function makeAdapter(seed: number): Map<string, Buffer> {
  const base = JSON.parse(readFileSync(join(root, 'models/anneal-tiny/config.json'), 'utf8')) as {
    hidden_size: number
    num_hidden_layers: number
  }
  const random = createRandom(seed)
  const header: Record<string, { dtype: 'F32'; shape: number[]; data_offsets: [number, number] }> = {}
  const parts: Buffer[] = []
  let offset = 0
  const add = (name: string, shape: [number, number], scale: number) => {
    const values = Float32Array.from({ length: shape[0] * shape[1] }, () => (random.fraction() - 0.5) * scale)
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset + values.byteLength] }
    offset += values.byteLength
    parts.push(Buffer.from(values.buffer))
  }
  for (let layer = 0; layer < base.num_hidden_layers; layer++) {
    const module = `base_model.model.model.layers.${layer}.self_attn.o_proj`
    add(`${module}.lora_A.weight`, [rank, base.hidden_size], 2)
    add(`${module}.lora_B.weight`, [base.hidden_size, rank], 2)
  }
  const config = { peft_type: 'LORA', r: rank, lora_alpha: 8, target_modules: ['o_proj'], task_type: 'CAUSAL_LM' }
  return new Map([
    ['adapter_config.json', Buffer.from(JSON.stringify(config))],
    ['adapter_model.safetensors', safetensors(header, parts)],
  ])
}

function safetensors(header: object, parts: Buffer[]): Buffer {
  const text = JSON.stringify(header)
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(padded.length))
  return Buffer.concat([length, padded, ...parts])
}

/** Serves the files as presigned URLs would. `fetched` counts the downloads. */
export async function serveAdapter(files: Map<string, Buffer>) {
  const counts = { fetched: 0 }
  const server = createServer((request, response) => {
    counts.fetched += 1
    response.end(files.get(new URL(request.url ?? '/', 'http://files').pathname.slice(1)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const name = createHash('sha256')
    .update([...files.values()].map((file) => file.toString('hex')).join())
    .digest('hex')
  const list = [...files].map(([fileName, bytes]) => ({
    name: fileName,
    url: `${origin}/${fileName}?signature=1`,
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }))
  return { name, counts, files: async () => list, close: () => server.close() }
}
