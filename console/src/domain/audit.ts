// Filters and groups of the audit trail.

export type AuditEvent = {
  at: string
  action: string
  target: string | null
  key_id: string | null
  /** What people call the key. */
  keyName?: string | undefined
  address: string | null
}

export const auditGroups = ['none', 'day', 'action', 'key'] as const
export type AuditGroup = (typeof auditGroups)[number]

/** The events that hold the text and have the action; '' for every action. */
export function chosenEvents<T extends AuditEvent>(
  events: readonly T[],
  { text, action }: { text: string; action: string },
) {
  const wanted = text.trim().toLowerCase()
  return events.filter(
    (event) =>
      (action === '' || event.action === action) &&
      [event.action, event.target, event.key_id, event.keyName, event.address].join(' ').toLowerCase().includes(wanted),
  )
}

/** The events in the order of their groups; a group stands where its newest event stands. */
export function groupedEvents<T extends AuditEvent>(
  events: readonly T[],
  group: AuditGroup,
): [name: string, events: T[]][] {
  const nameOf = ({ at, action, key_id: key }: T) =>
    group === 'day' ? at.slice(0, 10) : group === 'action' ? action : group === 'key' ? (key ?? 'without a key') : ''
  return [...Map.groupBy(events, nameOf)]
}
