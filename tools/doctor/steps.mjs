// Which steps of set-up are still to be done.
import { nodeIsReady } from '../setup/node-packages.mjs'
import { objectStoreIsReady } from '../setup/object-store.mjs'
import { pythonIsReady } from '../setup/python-env.mjs'

const steps = { node: nodeIsReady, python: pythonIsReady, s3: objectStoreIsReady }

/** @returns {string[]} */
export function missingSteps() {
  return Object.keys(steps).filter((name) => !isReady(steps[name]))
}

function isReady(step) {
  try {
    return step(false)
  } catch {
    // A variable names a program that is not there: set-up says so, too.
    return false
  }
}
