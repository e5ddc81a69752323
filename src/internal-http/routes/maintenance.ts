import { wireTime } from '../../domain/timestamps.ts'
import type { Maintenance } from '../../domain/wait.ts'
import { defineRoute } from '../../http/kit/route.ts'
import { getMaintenance, setMaintenance } from '../../services/admin/maintenance.ts'
import { MaintenanceAnswer, MaintenanceBody } from '../schemas/maintenance.ts'

const path = '/internal/v1/admin/maintenance'

export const maintenanceRoutes = [
  defineRoute({
    name: 'get_maintenance',
    method: 'get',
    path,
    summary: 'Say whether new work is stopped',
    access: 'admin',
    response: MaintenanceAnswer,
    handle: async ({ caller: admin }) => ({ maintenance: shownMaintenance(await getMaintenance({ admin })) }),
  }),
  defineRoute({
    name: 'set_maintenance',
    method: 'put',
    path,
    summary: 'Stop new work, or let it go on. Accepted work waits, and running work goes on to its end',
    access: 'admin',
    body: MaintenanceBody,
    response: MaintenanceAnswer,
    async handle({ caller: admin, body: { on, message } }) {
      const input = { isOn: on, message: message ?? '' }
      return { maintenance: shownMaintenance(await setMaintenance({ admin, input })) }
    },
  }),
]

export const shownMaintenance = (maintenance: Maintenance | null) =>
  maintenance && { since: wireTime(maintenance.since), message: maintenance.message }
