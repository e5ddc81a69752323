// A workflow with one activity that notices the end of a worker sooner than those of the service.
import { proxyActivities } from '@temporalio/workflow'

const { work } = proxyActivities<{ work: () => Promise<string> }>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '2 seconds',
  retry: { initialInterval: '20 milliseconds', backoffCoefficient: 1 },
})

export const tried = (): Promise<string> => work()
