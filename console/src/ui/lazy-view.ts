// Pages are loaded when they are first opened, and the others once the browser has nothing to do, so that they open without
// the service too.
import { lazy, type ComponentType } from 'react'

const againMs = 2000
/** A page that is younger has just been loaded, so that loading it once more would not help. */
const youngMs = 10_000
const loads: (() => Promise<unknown>)[] = []

export function lazyView<P>(load: () => Promise<ComponentType<P>>) {
  loads.push(load)
  return lazy(async () => ({ default: await patiently(load) }))
}

/** Loads the pages that were not opened yet. One that cannot be had now is loaded when it is opened. */
export function loadOtherViews() {
  setTimeout(() => void Promise.allSettled(loads.map((load) => load())), againMs)
}

async function patiently<T>(load: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await load()
    } catch (error) {
      const answers = await fetch('/console/', { cache: 'no-store' }).then(
        ({ ok }) => ok,
        () => false,
      )
      // A newer release has other files, and a page that names them.
      if (answers && performance.now() > youngMs) location.reload()
      else if (answers) throw error
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
}
