// Ids as OpenAI writes them: a prefix, and the hex digits of a UUID.

export const idOf = (prefix: string, uuid: string) => `${prefix}_${uuid.replaceAll('-', '')}`

/** @throws the error of `missing` for any other text */
export function requireUuid(prefix: string, id: string, missing: () => Error): string {
  const uuid = uuidIn(prefix, id)
  if (uuid === null) throw missing()
  return uuid
}

/** @returns null for any other text */
export function uuidIn(prefix: string, id: string): string | null {
  const hex = id.startsWith(`${prefix}_`) ? /^[0-9a-f]{32}$/.exec(id.slice(prefix.length + 1))?.[0] : undefined
  return hex === undefined ? null : hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
