/** Priorities of an account's jobs in a cluster's queue, lowest first. */
export const priorities = ['low', 'normal', 'high'] as const

export type Priority = (typeof priorities)[number]
