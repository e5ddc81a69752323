/** `anneal doctor` found this in one check; `next` says what to do where it is not ok. */
export type Finding = {
  check: string
  state: 'ok' | 'warning' | 'failed'
  says: string
  /** The next step. */
  next?: string
}

export type Verdict = Omit<Finding, 'check'>

export const ok = (says: string): Verdict => ({ state: 'ok', says })
export const warning = (says: string, next: string): Verdict => ({ state: 'warning', says, next })
export const failed = (says: string, next: string): Verdict => ({ state: 'failed', says, next })
