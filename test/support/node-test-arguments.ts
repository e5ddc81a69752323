// The arguments of `node --test` that every runner of this tree uses.
import { patienceMs } from './eventually.ts'

type Options = { concurrency: number; reporters: string[]; files: string[] }

export function nodeTestArguments({ concurrency, reporters, files }: Options): string[] {
  return [
    '--test',
    `--test-concurrency=${concurrency}`,
    // Longer than any wait inside a test, so that the wait names what did not happen.
    `--test-timeout=${2 * patienceMs}`,
    '--import=./test/support/end-of-file.ts',
    ...reporters.flatMap((reporter) => [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout']),
    ...files,
  ]
}
