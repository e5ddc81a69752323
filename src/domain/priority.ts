/** Of an account's jobs in the queue of a cluster, the lowest first. */
export const priorities = ['low', 'normal', 'high'] as const

export type Priority = (typeof priorities)[number]
