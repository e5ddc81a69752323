// Loaded before a worker (`node --import`): in the middle of the launch of a trainer, with everything looked up and the name of
// the run not yet claimed, it stops itself as `kill -STOP` would. The rest it does once it is told to go on.
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const { execFile } = childProcess
const isLaunch = (args: unknown) => Array.isArray(args) && args.some((each) => String(each).includes('/.new-ft-'))

Object.assign(childProcess, {
  execFile: (...given: Parameters<typeof execFile>) => {
    if (isLaunch(given[1])) process.kill(process.pid, 'SIGSTOP')
    return execFile(...given)
  },
})
syncBuiltinESMExports()
