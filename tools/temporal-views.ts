// Prints JavaScript that saves the views and the columns of docs/operations.md in the Temporal UI. The UI keeps both in the
// browser, so an operator pastes the text into the console of the browser's developer tools:
//   npm run --silent temporal:views [-- NAMESPACE]
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

type View = { id: string; name: string; query: string; type: 'user' }
type Column = { label: string; pinned: boolean }

/** Stand in the page for today and for a week ago. */
const dates = { '2027-01-31': 0, '2027-01-24': 7 }
const dayMs = 24 * 60 * 60 * 1000

/** Views that are saved again replace the older ones. */
const idPrefix = 'anneal-'
/** The UI of Temporal 1.31, and the older one. */
const viewKeys = ['saved-workflow-queries', 'saved-namespace-queries']
const columnsKey = 'namespace-workflow-table-columns'

/** Reads the tables of the page. Leaves out the views that need the id of an account. */
export function viewsAndColumns(page: string, today: Date): { views: View[]; columns: Column[] } {
  const rows = [...page.matchAll(/^\| ([^|]+) \| `([^|`]*WorkflowType = [^|`]*)` \|$/gm)]
  const views = rows.map(([, name = '', filter = ''], index) => {
    let query = filter
    for (const [written, daysAgo] of Object.entries(dates))
      query = query.replaceAll(written, new Date(today.getTime() - daysAgo * dayMs).toISOString().slice(0, 10))
    return { id: idPrefix + index, name, query, type: 'user' as const }
  })
  const named = /^Columns: (.+)\.$/m.exec(page)?.[1] ?? ''
  const columns = [...named.matchAll(/`([^`]+)`/g)].map(([, label = ''], index) => ({ label, pinned: index < 2 }))
  return { views, columns }
}

/** Keeps the views that the operator saved, in this and in other namespaces. */
export function snippetOf({ views, columns }: ReturnType<typeof viewsAndColumns>, namespace: string): string {
  return `(() => {
  const views = ${JSON.stringify(views, null, 2)}
  const columns = ${JSON.stringify(columns)}
  const namespace = ${JSON.stringify(namespace)}
  const change = (key, next) => {
    const all = JSON.parse(localStorage.getItem(key) ?? '{}') ?? {}
    localStorage.setItem(key, JSON.stringify({ ...all, [namespace]: next(all[namespace] ?? []) }))
  }
  for (const key of ${JSON.stringify(viewKeys)})
    change(key, (saved) => [...saved.filter(({ id }) => !String(id).startsWith(${JSON.stringify(idPrefix)})), ...views])
  change(${JSON.stringify(columnsKey)}, () => columns)
  console.log('Saved. Reload the page.')
})()`
}

if (import.meta.main) {
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  console.log(snippetOf(viewsAndColumns(page, new Date()), process.argv[2] ?? 'default'))
}
