// The credentials of a tracker, kept encrypted: a leaked database does not open the tracker.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

const keyOf = (secret: string) => createHmac('sha256', secret).update('tracker-authorization').digest()

export function seal(secret: string, text: string): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, keyOf(secret), iv)
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64')
}

/** @throws Error when it was sealed with another secret */
export function unseal(secret: string, sealed: string): string {
  const all = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv(algorithm, keyOf(secret), all.subarray(0, ivBytes))
  decipher.setAuthTag(all.subarray(ivBytes, ivBytes + tagBytes))
  return Buffer.concat([decipher.update(all.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
}
