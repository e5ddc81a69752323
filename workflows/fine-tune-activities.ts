// The activities of a fine-tune, each with its timeouts and its summary in the Temporal UI.
import { proxyActivities, type ActivityInterfaceFor } from '@temporalio/workflow'
import type { FineTuneActivities } from '../activities/fine-tune.ts'
import { retry, untilDone } from './activity-limits.ts'
import { watchTaskQueue } from './contract.ts'

const quick = proxyActivities<FineTuneActivities>({ startToCloseTimeout: '30 seconds', retry })

// Verifying bytes and ending pods may take long.
const slow = proxyActivities<FineTuneActivities>(untilDone)

// These last as long as a queue or a training.
const endless = proxyActivities<FineTuneActivities>({
  taskQueue: watchTaskQueue,
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '12 seconds',
  retry,
})

type Proxies = ActivityInterfaceFor<FineTuneActivities>
type Input<K extends keyof FineTuneActivities> = Parameters<FineTuneActivities[K]>[0]

const summarised =
  <K extends keyof FineTuneActivities>(proxies: Proxies, name: K, summary: (input: Input<K>) => string) =>
  (input: Input<K>): ReturnType<FineTuneActivities[K]> =>
    // The proxy's own type cannot relate a generic K to its input and output; FineTuneActivities is the guarantee.
    (
      proxies[name] as ActivityInterfaceFor<{ activity: (input: Input<K>) => Promise<unknown> }>['activity']
    ).executeWithOptions({ summary: summary(input) }, [input]) as ReturnType<FineTuneActivities[K]>

export const activities = {
  prepareDataset: summarised(endless, 'prepareDataset', () => 'check the data set'),
  requeue: summarised(quick, 'requeue', ({ backOffMs }) => `try again in ${Math.round(backOffMs / 1000)} s`),
  openAttempt: summarised(quick, 'openAttempt', ({ mode }) =>
    mode === 'train' ? 'open an attempt' : 'open an evaluation',
  ),
  launchAttempt: summarised(endless, 'launchAttempt', ({ attempt }) => `launch attempt ${attempt}`),
  watchAttempt: summarised(endless, 'watchAttempt', ({ attempt }) => `watch attempt ${attempt}`),
  recordPhase: summarised(quick, 'recordPhase', ({ phase }) => phase),
  releaseAttempt: summarised(slow, 'releaseAttempt', ({ attempt }) => `release attempt ${attempt}`),
  publishModel: summarised(slow, 'publishModel', () => 'verify and publish the model'),
  requestCancel: summarised(quick, 'requestCancel', () => 'accept the update cancel'),
  acceptCancel: summarised(quick, 'acceptCancel', () => 'cancel'),
  releaseJob: summarised(slow, 'releaseJob', () => 'release all resources of the job'),
  finishJob: summarised(quick, 'finishJob', ({ status }) => status),
}
