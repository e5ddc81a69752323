// Counts bad rows by their reasons, because a file often has one mistake in many rows.
import type { BadRow, BadRowGroup } from '../domain/dataset-report.ts'

const maxGroups = 50
const maxLines = 5
/** The group of the reasons that have none of their own. */
const others = { field: 'row', reason: 'has another problem' }

export function createBadRowGroups() {
  const found = new Map<string, BadRowGroup>()

  return {
    add({ line, ...row }: BadRow) {
      // The third message of a row has the same mistake as the fifth of another.
      const place = row.field.replaceAll(/\[\d+\]/g, '[]')
      const ownKey = `${place}: ${row.reason}`
      const isNamed = found.has(ownKey) || found.size < maxGroups
      const key = isNamed ? ownKey : ''
      const group = found.get(key) ?? { ...(isNamed ? row : others), rowCount: 0, lines: [] }
      if (isNamed && group.field !== row.field) group.field = place
      group.rowCount++
      if (group.lines.length < maxLines) group.lines.push(line)
      found.set(key, group)
    },
    list: (): BadRowGroup[] => [...found.values()],
  }
}
