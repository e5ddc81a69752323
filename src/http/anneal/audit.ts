import type { Person as KnownPerson } from '../../domain/person.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { listAuditEvents } from '../../services/audit/list.ts'
import { defineRoute } from '../kit/route.ts'
import { AuditQuery, AuditTrail } from './schemas/audit.ts'

/** As `Person` has it. */
export const shownPerson = (person: KnownPerson | null) => person && { id: person.subject, mail: person.mail }

const defaultPageSize = 100

export const auditRoutes = [
  defineRoute({
    name: 'list_audit_events',
    method: 'get',
    path: '/v1/audit',
    summary: 'List the changes made with the keys of the account, newest first',
    access: 'key',
    scope: 'admin',
    query: AuditQuery,
    response: AuditTrail,
    async handle({ caller: ctx, query }) {
      const { events, next } = await listAuditEvents({
        ctx,
        input: { ...query, limit: query.limit ?? defaultPageSize },
      })
      return {
        events: events.map(({ id, at, apiKeyId, action, target, requestId, address, person }) => ({
          id,
          at: wireTime(at),
          key_id: apiKeyId,
          action,
          target,
          request_id: requestId,
          address,
          person: shownPerson(person),
        })),
        next,
      }
    },
  }),
]
