import type { Prisma } from '../../generated/prisma/client.ts'
import type { JobEvent } from '../domain/training-job.ts'
import type { Connection } from './connection.ts'

export type NewJobEvent = Pick<JobEvent, 'kind' | 'actor'> &
  Partial<Pick<JobEvent, 'status' | 'attempt' | 'reason' | 'message'>>

export const createJobEventRepository = (db: Connection) => ({
  async add(jobId: number, ...events: NewJobEvent[]) {
    await db.jobEvent.createMany({ data: events.map((event) => ({ ...event, jobId })) })
  },

  /** Adds those that the job does not have yet, by reason and message. */
  async addOnce(jobId: number, ...events: (NewJobEvent & { reason: string; message: string })[]) {
    const known = await db.jobEvent.findMany({
      where: { jobId, reason: { in: events.map(({ reason }) => reason) } },
      select: { reason: true, message: true },
    })
    const isNew = ({ reason, message }: { reason: string; message: string }) =>
      !known.some((event) => event.reason === reason && event.message === message)
    await this.add(jobId, ...events.filter(isNew))
  },

  /** Lists the events after `after`, oldest first. */
  async list(jobId: number, { after, limit }: { after: bigint | null; limit: number }): Promise<JobEvent[]> {
    const rows = await db.jobEvent.findMany({
      where: { jobId, ...(after === null ? {} : { id: { gt: after } }) },
      orderBy: { id: 'asc' },
      take: limit,
    })
    return rows.map(plain)
  },

  /** Lists the newest events, newest first. */
  async newest(jobId: number, limit: number): Promise<JobEvent[]> {
    return (await db.jobEvent.findMany({ where: { jobId }, orderBy: { id: 'desc' }, take: limit })).map(plain)
  },
})

const plain = ({ jobId: _jobId, id, ...row }: Prisma.JobEventGetPayload<object>): JobEvent => ({
  ...(row as Omit<JobEvent, 'id'>),
  id: String(id),
})
