// Which accounts use this process now. While several do, work that takes much of a processor is done in smaller pieces.

/** An account that asks one thing after the other has nothing here between two of them. */
const activeForMs = 1000

type Asked = { accountId: string; atMs: number }

export type Activity = ReturnType<typeof createActivity>

export function createActivity(now = () => performance.now()) {
  let latest: Asked | null = null
  /** The account that asked last before the one of `latest`. */
  let other: Asked | null = null

  return {
    note(accountId: string) {
      if (latest !== null && latest.accountId !== accountId) other = latest
      latest = { accountId, atMs: now() }
    },

    /** Whether accounts besides this one have asked for something lately. */
    isShared(accountId: string): boolean {
      const asked = latest?.accountId === accountId ? other : latest
      return asked !== null && now() - asked.atMs < activeForMs
    },
  }
}
