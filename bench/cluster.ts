// Compares jobs on a real cluster with the same Kubernetes objects created directly, through the public API and a watch.
// Starts nothing: `npm run bench -- cluster` brings up a cluster with the product (test/lab/cluster/run.ts) and runs this.
import { loadavg } from 'node:os'
import { measureCancel } from './cluster/cancel.ts'
import { measurePendingLoad } from './cluster/pending-load.ts'
import { measureTax } from './cluster/job-tax.ts'
import { measureLaunch } from './cluster/launch.ts'
import { openService, type Service } from './cluster/service.ts'
import { printTable, type Measured } from './cluster/table.ts'

const measures: Record<string, (service: Service) => Promise<Measured[]>> = {
  launch: measureLaunch,
  tax: measureTax,
  cancel: measureCancel,
  // Last, because it leaves a thousand jobs behind.
  'pending-load': measurePendingLoad,
}

const asked = process.argv.slice(2)
const service = await openService()
const results: Measured[] = []
for (const [name, measure] of Object.entries(measures)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const [startedAt, loadBefore] = [performance.now(), loadavg()[0] ?? 0]
  try {
    results.push(...(await measure(service)))
  } catch (error) {
    // The other measurements go on.
    console.error(name, error)
    process.exitCode = 1
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  console.log(
    `${name}: ${seconds} s, load of the machine ${loadBefore.toFixed(1)} before, ${loadavg()[0]?.toFixed(1)} after`,
  )
}
printTable(results)
// The watches would keep the process alive.
process.exit()
