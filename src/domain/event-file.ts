// TensorBoard's event files: records (TFRecord) of a protocol buffer, tensorflow.Event, with one figure each. The fields are those of
// tensorboard/compat/proto/event.proto and summary.proto.

type Scalar = { tag: string; step: number; value: number; atMs: number }

/** The file's first record. */
export const eventFileHeader = (atMs: number): Buffer =>
  recordOf(Buffer.concat([wallTime(atMs), delimited(field(3, lengthDelimited), Buffer.from('brain.Event:2'))]))

export function eventRecord({ tag, step, value, atMs }: Scalar): Buffer {
  const figure = Buffer.alloc(5)
  figure.writeUInt8(field(2, fourBytes))
  figure.writeFloatLE(value, 1)
  const scalar = Buffer.concat([delimited(field(1, lengthDelimited), Buffer.from(tag)), figure])
  const summary = delimited(field(1, lengthDelimited), scalar)
  const stepField = Buffer.concat([Buffer.from([field(2, varint)]), varintOf(step)])
  return recordOf(Buffer.concat([wallTime(atMs), stepField, delimited(field(5, lengthDelimited), summary)]))
}

/** Wire types of protocol buffers. */
const [varint, eightBytes, lengthDelimited, fourBytes] = [0, 1, 2, 5] as const

const field = (number: number, wireType: number) => (number << 3) | wireType

function wallTime(atMs: number): Buffer {
  const bytes = Buffer.alloc(9)
  bytes.writeUInt8(field(1, eightBytes))
  bytes.writeDoubleLE(atMs / 1000, 1)
  return bytes
}

const delimited = (key: number, content: Buffer) =>
  Buffer.concat([Buffer.from([key]), varintOf(content.length), content])

function varintOf(value: number): Buffer {
  const bytes = []
  let rest = value
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

/** Length, its checksum, content, its checksum. */
function recordOf(content: Buffer): Buffer {
  const length = Buffer.alloc(8)
  length.writeUInt32LE(content.length)
  return Buffer.concat([length, maskedCrc(length), content, maskedCrc(content)])
}

function maskedCrc(bytes: Buffer): Buffer {
  const crc = crc32c(bytes)
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
  const written = Buffer.alloc(4)
  written.writeUInt32LE(masked)
  return written
}

/** Castagnoli's polynomial, reversed. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc
})

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 255] ?? 0)
  return ~crc >>> 0
}
