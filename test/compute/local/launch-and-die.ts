import { shellCompute, shellRun, waits } from './support.ts'

// A worker that dies as soon as its launch is done: node launch-and-die.ts HOME NAME
const [home = '', name = ''] = process.argv.slice(2)
const { uid } = await shellCompute(home).launch(shellRun(name, waits))
process.stdout.write(uid, () => process.kill(process.pid, 'SIGKILL'))
