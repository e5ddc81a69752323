// Gives our programs clocks that a test can set: libfaketime adds the offset in a file to the wall clock. The monotonic
// clock stays as it is, as when somebody sets a real clock.
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

/** @param path the file with the offset; programs see a change within a second */
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
          // The modification times of files keep the real clock.
          NO_FAKE_STAT: '1',
        }
      : {},
  }
}
