// The memory that a process lends to the bodies of its requests. A body takes its share before it is read and keeps it until
// the answer has been sent, because what was parsed from it lives as long.
import { ServiceError } from '../../domain/service-error.ts'

const mebibyte = 1024 * 1024
/** Bodies up to this size need only room in the process, so that an account's single prompts pass beside its large calls. */
const smallBodyBytes = 64 * 1024
const retryAfterSeconds = 2

export type BodyMemory = ReturnType<typeof createBodyMemory>
export type BodyShare = ReturnType<BodyMemory['open']>

/**
 * An account may hold at most as much as is still free. So one account alone gets half, n accounts get
 * 1/(n+1) each, and an account that has nothing finds room however much the others ask for.
 */
export function createBodyMemory(totalBytes: number) {
  const heldBy = new Map<string, number>()
  let heldBytes = 0

  function add(account: string, sizeBytes: number) {
    const held = (heldBy.get(account) ?? 0) + sizeBytes
    if (held > 0) heldBy.set(account, held)
    else heldBy.delete(account)
    heldBytes += sizeBytes
  }

  return {
    /** Opens an empty share. */
    open(account: string) {
      let mine = 0

      /** Makes the share at least this large, or leaves it as it is. @throws ServiceError rate_limited, unavailable */
      function growTo(sizeBytes: number) {
        const more = sizeBytes - mine
        if (more <= 0) return
        const others = (heldBy.get(account) ?? 0) - mine
        const needed = sizeBytes <= smallBodyBytes ? more : others + sizeBytes
        if (needed > totalBytes - heldBytes)
          throw others > 0 ? accountHasItsShare(others, sizeBytes, totalBytes - heldBytes) : processIsFull(totalBytes)
        add(account, more)
        mine = sizeBytes
      }

      function release() {
        if (mine > 0) add(account, -mine)
        mine = 0
      }
      return { growTo, release }
    },
  }
}

const megabytes = (sizeBytes: number) => `${Math.ceil(sizeBytes / mebibyte)} MB`

const accountHasItsShare = (heldBytes: number, sizeBytes: number, freeBytes: number) =>
  new ServiceError(
    'rate_limited',
    `This account's running requests hold ${megabytes(heldBytes)} of bodies, and this one has ${megabytes(sizeBytes)}. ` +
      `Together an account's bodies may have at most as much as is free, now ${megabytes(freeBytes)}. Wait until a request is answered.`,
    { retryAfterSeconds },
  )

const processIsFull = (totalBytes: number) =>
  new ServiceError(
    'unavailable',
    `The bodies of all running requests fill the ${megabytes(totalBytes)} that this process has for them. Try again in a few seconds.`,
    { retryAfterSeconds },
  )
