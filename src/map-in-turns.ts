import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others have their turns after so many items. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  itemsOfTurn: number,
  each: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    results.push(each(item))
    if (results.length % itemsOfTurn === 0) await nextTurn()
  }
  return results
}
