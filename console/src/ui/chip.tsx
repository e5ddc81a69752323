import type { ReactNode } from 'react'

/** The tones of states, in words: waits, runs, done, partly, failed, ended. */
export type Tone = 'waits' | 'runs' | 'done' | 'partly' | 'failed' | 'ended'

/** A short fact about the thing beside it. */
export const Chip = ({ tone = 'waits', title, children }: { tone?: Tone; title?: string; children: ReactNode }) => (
  <span className={`chip ${tone}`} title={title}>
    {children}
  </span>
)
