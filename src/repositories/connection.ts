import type { Prisma } from '../../generated/prisma/client.ts'

/** The database, or a transaction in it. */
export type Connection = Prisma.TransactionClient
