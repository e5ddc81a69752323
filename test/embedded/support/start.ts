// The supervisor around the stand-ins:   node start.ts HOME PORT
import { runSupervisor } from '../../../src/embedded/supervisor.ts'

const [home = '', port] = process.argv.slice(2)
const services = { api: `${import.meta.dirname}/stand-in-api.ts`, worker: `${import.meta.dirname}/stand-in-worker.ts` }
process.exitCode = await runSupervisor({ home, port: Number(port), services })
