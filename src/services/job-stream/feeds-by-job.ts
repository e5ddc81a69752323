import type { JobFeed } from './job-feed.ts'

/** The feeds of a process by job and account: a notification names a job, and accounts share no feed. */
export function createFeedsByJob() {
  const feeds = new Map<number, Map<string, JobFeed>>()
  return {
    find: (jobId: number, accountId: string): JobFeed | undefined => feeds.get(jobId)?.get(accountId),

    ofJob: (jobId: number): Iterable<JobFeed> => feeds.get(jobId)?.values() ?? [],

    *all(): Iterable<JobFeed> {
      for (const ofJob of feeds.values()) yield* ofJob.values()
    },

    add(jobId: number, accountId: string, feed: JobFeed) {
      feeds.set(jobId, (feeds.get(jobId) ?? new Map<string, JobFeed>()).set(accountId, feed))
    },

    remove(jobId: number, accountId: string) {
      const ofJob = feeds.get(jobId)
      if (ofJob?.delete(accountId) && ofJob.size === 0) feeds.delete(jobId)
    },
  }
}
