// Time from accepted to COMPLETED, compared with the same pod with the same work and a fake internal API.
import { providePythonPackages } from '../../test/lab/cluster/python-packages.ts'
import { api, openNamespace } from '../../test/lab/cluster/support/cluster.ts'
import { median } from '../stack.ts'
import { createPod, jobOf, startFakeInternalApi, type TrainingPod } from './baseline.ts'
import { followCalls } from './calls.ts'
import { sayActivities } from './history.ts'
import { watchPods } from './pods.ts'
import type { Service } from './service.ts'
import { lagOf, seconds, type Measured } from './table.ts'

const rounds = 6
const rowsFile = 'models/samples/products.jsonl'
const args = {
  max_steps: 40,
  learning_rate: 0.002,
  optim: 'adamw_torch',
  batch_size: 20,
  gradient_accumulation_steps: 1,
  warmup_steps: 10,
}

type Life = Record<'whole' | 'untilPod' | 'untilItRuns' | 'run' | 'afterIt', number>

export async function measureTax(service: Service): Promise<Measured[]> {
  const namespace = await openNamespace()
  await providePythonPackages(api, namespace.name)
  const baselinePods = watchPods(namespace.name)
  const [ids, lags]: [number[], number[]] = [[], []]
  let template: TrainingPod | undefined

  async function runJob(): Promise<Life> {
    const { id, run, acceptedAt } = await service.train(args)
    const existsAt = await service.pods.at(run, 'exists')
    template ??= (await jobOf(run)).spec.template.spec
    const runsAt = await service.pods.at(run, 'runs')
    const hasStarted = (message: string | null) => message === 'Its program starts.'
    lags.push((await service.reads(id, (job) => job.status !== 'QUEUED' || hasStarted(job.status_message))) - runsAt)
    const endedAt = await service.pods.at(run, 'ended')
    const completedAt = await service.reads(id, ({ status }) => status === 'COMPLETED')
    ids.push(id)
    return {
      whole: completedAt - acceptedAt,
      untilPod: existsAt - acceptedAt,
      untilItRuns: runsAt - existsAt,
      run: endedAt - runsAt,
      afterIt: completedAt - endedAt,
    }
  }

  async function runPod(pod: TrainingPod, name: string): Promise<Life> {
    const fakeApi = await startFakeInternalApi(rowsFile, args)
    const createdAt = await createPod(pod, namespace.path, name, fakeApi)
    const runsAt = await baselinePods.at(name, 'runs')
    const endedAt = await baselinePods.at(name, 'ended')
    fakeApi.stop()
    return {
      whole: endedAt - createdAt,
      untilPod: 0,
      untilItRuns: runsAt - createdAt,
      run: endedAt - runsAt,
      afterIt: 0,
    }
  }

  const lives = { ours: [] as Life[], baseline: [] as Life[] }
  const calls = await followCalls()
  for (let round = 0; round < rounds; round++) {
    lives.ours.push(await runJob())
    if (template) lives.baseline.push(await runPod(template, `baseline-${round}`))
  }
  const measuredCalls = await calls.perJob(rounds)
  await namespace.remove()

  const of = (whose: Life[], part: keyof Life) => median(whose.map((life) => life[part]))
  const part = (name: keyof Life) => `${name} ${seconds(of(lives.ours, name))} (${seconds(of(lives.baseline, name))})`
  console.log(
    `job tax, medians, and the baseline's: ${(['untilPod', 'untilItRuns', 'run', 'afterIt'] as const).map(part).join(', ')}`,
  )
  await sayActivities('tax', ids, ['releaseAttempt', 'recordPhase', 'publishModel', 'finishJob'])
  return [
    {
      measure: `accepted → COMPLETED (${rounds})`,
      seen: `median ${seconds(of(lives.ours, 'whole'))}`,
      baseline: `median ${seconds(of(lives.baseline, 'whole'))}`,
      compared: `${seconds(of(lives.ours, 'whole') - of(lives.baseline, 'whole'))} more`,
      target: '≤ 3 s more',
    },
    lagOf(`its program runs → readable (${rounds})`, lags),
    ...measuredCalls,
  ]
}
