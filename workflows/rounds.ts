// The life of the housekeeping workflows: a round at each multiple of a period, for ever. One open execution of each stands in
// Temporal's list; its closed runs are few, and retention removes them.
import { condition, continueAsNew, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow'
import { runNowSignal, setPausedSignal, type RoundsInput } from './contract.ts'

/** @param everyMs rounds begin at multiples of it, in UTC. A round that lasts longer is followed by the next at once */
export async function keepRounds(
  everyMs: number,
  { isPaused = false, isAsked = false }: RoundsInput,
  round: () => Promise<unknown>,
): Promise<never> {
  const state = { isPaused, isAsked }
  setHandler(
    runNowSignal,
    () => {
      state.isAsked = true
    },
    { description: 'Begins a round at once, also while paused.' },
  )
  setHandler(
    setPausedSignal,
    (isPaused) => {
      state.isPaused = isPaused
    },
    { description: 'true stops further rounds, false goes on.' },
  )
  let dueMs = nextMultiple(everyMs)
  for (;;) {
    await untilDue(dueMs, state)
    dueMs = nextMultiple(everyMs)
    state.isAsked = false
    await round()
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<(input: RoundsInput) => Promise<never>>(state)
  }
}

async function untilDue(dueMs: number, state: { isPaused: boolean; isAsked: boolean }) {
  for (;;) {
    await condition(() => state.isAsked || !state.isPaused)
    const waitMs = dueMs - Date.now()
    if (state.isAsked || waitMs <= 0) return
    const isWoken = await condition(() => state.isAsked || state.isPaused, waitMs)
    if (!isWoken) return
  }
}

const nextMultiple = (everyMs: number) => (Math.floor(Date.now() / everyMs) + 1) * everyMs

/** In the Temporal UI. @param counts null where a step failed */
export function showRound(title: string, counts: Record<string, number | null>) {
  const shown = Object.entries(counts).map(([what, count]) => `${what}: ${count ?? 'unknown'}`)
  setCurrentDetails(`${title} (${new Date().toISOString()}): ${shown.join(' · ')}`)
}
