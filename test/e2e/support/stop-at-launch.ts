// Loaded before a worker (`node --import`): in the middle of the launch of a trainer, with everything looked up and nothing of the
// run begun on this machine, it stops itself as `kill -STOP` would. The rest it does once it is told to go on.
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const { mkdir } = fs

Object.assign(fs, {
  mkdir: (...given: Parameters<typeof mkdir>) => {
    if (String(given[0]).includes('/.new-ft-')) process.kill(process.pid, 'SIGSTOP')
    return mkdir(...given)
  },
})
syncBuiltinESMExports()
