import type { StringRule } from './nodes.ts'
import { mostSteps, stepsAtOnce, type Kind, type Steps } from './steps.ts'

/** The steps that a request may spend on its schemas. `rules` keeps the automaton of each pattern: many strings have the same. */
export type Work = Steps & { rules: Map<string, StringRule> }

export const workAtOnce = (kind: Kind = 'read'): Work => ({ left: stepsAtOnce[kind], rules: new Map() })
export const newWork = (kind: Kind = 'read'): Work => ({ left: mostSteps[kind], rules: new Map() })
