// Finds pages, jobs, models, data sets and actions for Ctrl-K.

export type Found = { group: string; name: string; detail?: string }

/** Rows of the list; more would not be read. */
const most = 40

/** Keeps the items that have every typed word. A name that begins with the text comes first; otherwise the order is kept. */
export function found<T extends Found>(items: readonly T[], text: string): T[] {
  const wanted = text.trim().toLowerCase()
  const words = wanted.split(/\s+/)
  const fitting = items.filter(({ group, name, detail = '' }) => {
    const said = `${name} ${detail} ${group}`.toLowerCase()
    return words.every((word) => said.includes(word))
  })
  const rank = ({ name }: T) => {
    const said = name.toLowerCase()
    return said === wanted ? 0 : said.startsWith(wanted) ? 1 : said.split(/\W+/).some((word) => word === wanted) ? 2 : 3
  }
  return fitting
    .map((item) => ({ item, rank: rank(item) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
    .slice(0, most)
}
