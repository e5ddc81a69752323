// Where graders run on this machine: finds the interpreter and bubblewrap, and starts a grader's process within.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { graderImages, type ImageTag } from '../../domain/python-grader.ts'
import { sandboxCommand, type Interpreter } from './bubblewrap.ts'
import { startProcess, type GraderProcess } from './grader-process.ts'

/** A sandbox in which no grader has begun, or why there is none: a sentence for users, and a reason for the operator. */
type Opened = { process: GraderProcess } | { refusal: string; reason: string }

/** Each process serves one grader of one account. */
export type Sandbox = { open: (imageTag: ImageTag | null) => Promise<Opened> }

type Found = Interpreter & { packages: Record<string, string> }

const run = promisify(execFile)
const startMs = 30_000
const describing = `
import importlib.metadata, json, os, sys
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "prefix": sys.base_prefix,
    "folders": [folder for folder in sys.path if folder.endswith("-packages") and os.path.isdir(folder)],
    "packages": {found.name.lower(): found.version for found in importlib.metadata.distributions()},
}))`

/** @param python the interpreter of graders, with their packages */
export function createSandbox(python: string): Sandbox {
  let found: Promise<Found> | null = null

  return {
    async open(imageTag) {
      try {
        await (found ??= describe(python))
      } catch (error) {
        found = null
        return missing('the Python of graders does not run', error)
      }
      const interpreter = await found
      const lacking = imageTag && packageLacking(interpreter, imageTag)
      if (lacking) return missing(`those of image_tag ${imageTag} need ${lacking}, which is not installed`, python)
      const process = startProcess(sandboxCommand(interpreter))
      const started = await process.ask(null, startMs)
      if ('line' in started) return { process }
      process.end()
      const reason = process.complaint().trim() || started.gone
      if (/bwrap: not found/.test(reason)) return missing('bubblewrap is not installed', reason)
      return missing('its machine gives no sandbox to programs', reason)
    },
  }
}

const missing = (why: string, reason: unknown) => ({
  refusal: `This installation runs no Python graders: ${why}.`,
  reason: String(reason),
})

async function describe(python: string): Promise<Found> {
  const { stdout } = await run(python, ['-I', '-c', describing], { timeout: startMs })
  return JSON.parse(stdout) as Found
}

function packageLacking({ packages }: Found, imageTag: ImageTag): string | null {
  const lacking = Object.entries(graderImages[imageTag]).find(([name, version]) => packages[name] !== version)
  return lacking ? lacking.join(' ') : null
}
