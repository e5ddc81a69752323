import { uptime } from 'node:os'

/** All processes agree on it, it counts on while the machine sleeps, and nobody sets it: a clock that steps changes no grace. */
export const sinceBootMs = () => uptime() * 1000
