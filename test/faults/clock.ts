// Clocks of our own for what we run: libfaketime adds what a file says to the clock of the wall. What only counts seconds
// (CLOCK_MONOTONIC) goes on as it is, as when somebody sets a real clock.
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The clock of a program and of the programs that it starts. */
export type Clock = { environment: NodeJS.ProcessEnv; set: (aheadMs: number) => void }

/** Debian's package installs the library below this folder. */
const libraries = '/usr/lib'
const library = 'faketime/libfaketimeMT.so.1'

const libraryPath = existsSync(libraries)
  ? readdirSync(libraries)
      .map((each) => join(libraries, each, library))
      .find(existsSync)
  : undefined

export const hasClocks = libraryPath !== undefined

/** @param path of its file; a change of it is seen within a second */
export function createClock(path: string): Clock {
  const set = (aheadMs: number) => {
    writeFileSync(`${path}.new`, `${aheadMs < 0 ? '-' : '+'}${Math.abs(aheadMs / 1000)}`)
    renameSync(`${path}.new`, path)
  }
  set(0)
  return {
    set,
    environment: hasClocks
      ? {
          LD_PRELOAD: libraryPath,
          FAKETIME_TIMESTAMP_FILE: path,
          FAKETIME_CACHE_DURATION: '1',
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          // Times of files are not the clock's.
          NO_FAKE_STAT: '1',
        }
      : {},
  }
}
