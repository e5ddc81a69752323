import type { EndState, RunState } from './compute.ts'

export function isEndState(state: RunState): state is EndState {
  return state.state === 'succeeded' || state.state === 'failed' || state.state === 'gone'
}
