// Formats of strings as patterns. Each writes a part of what the format allows, and nothing else: checkers differ at the edges.

const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const date = `(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|${leapYear}-02-29)`
const time = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)'
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?'
const host = `${label}(?:\\.${label}){1,3}`
const byte = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const group = '[0-9a-fA-F]{1,4}'
const seconds = '\\d{1,4}S'
const minutes = `\\d{1,4}M(?:${seconds})?`
const hours = `\\d{1,4}H(?:${minutes}|${seconds})?`
const clock = `T(?:${hours}|${minutes}|${seconds})`
const days = `\\d{1,4}D(?:${clock})?`
const months = `\\d{1,4}M(?:${days}|${clock})?`
const years = `\\d{1,4}Y(?:${months}|${days}|${clock})?`

export const formats: Readonly<Record<string, string>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  duration: `^P(?:${years}|${months}|${days}|${clock}|\\d{1,4}W)$`,
  // The last part is letters only, as some checkers ask.
  email: `^[A-Za-z0-9_+-]{1,20}(?:\\.[A-Za-z0-9_+-]{1,20}){0,3}@(?:${label}\\.){1,3}[A-Za-z]{2,10}$`,
  hostname: `^${host}$`,
  ipv4: `^${byte}(?:\\.${byte}){3}$`,
  ipv6: `^(?:(?:${group}:){7}${group}|::(?:${group}:){0,5}${group}|(?:${group}:){1,5}:${group})$`,
  uuid: '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  uri: `^https?://${host}(?:/[A-Za-z0-9._~-]{0,40}){0,6}$`,
}

/** Formats of OpenAPI and of programming languages, which say how a value is kept and not which text it is. */
export const annotations = new Set([
  ...['int8', 'int16', 'int32', 'int64', 'int128', 'int', 'uint8', 'uint16', 'uint32', 'uint64', 'uint128', 'uint'],
  ...['float', 'float16', 'float32', 'float64', 'double', 'half', 'single', 'decimal', 'decimal128', 'number'],
  ...[
    'password',
    'binary',
    'path',
    'file-path',
    'directory-path',
    'text',
    'textarea',
    'markdown',
    'commonmark',
    'html',
  ],
])

/** What libraries write beside a format, although it is no regular pattern. The format above keeps it. */
export const impliedPatterns: Readonly<Record<string, string>> = {
  email: "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
}
