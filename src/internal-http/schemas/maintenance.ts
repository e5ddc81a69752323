import { z } from 'zod'
import { Time } from '../../http/lamini/schemas/training-job.ts'

export const MaintenanceBody = z.object({ on: z.boolean(), message: z.string().trim().max(500).nullish() })

/** Null while new work starts. */
export const ShownMaintenance = z.object({ since: Time, message: z.string() }).nullable()

export const MaintenanceAnswer = z.object({ maintenance: ShownMaintenance })
