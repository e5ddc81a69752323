// Accepted → COMPLETED, against the same pod with the same work, created by hand: it talks to a stand-in of the service.
import { providePythonPackages } from '../../test/cluster/python-packages.ts'
import { api, openNamespace } from '../../test/cluster/support/cluster.ts'
import { median } from '../stack.ts'
import { createPod, jobOf, startStandIn, type TrainingPod } from './baseline.ts'
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
  const podsByHand = watchPods(namespace.name)
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
    const standIn = await startStandIn(rowsFile, args)
    const createdAt = await createPod(pod, namespace.path, name, standIn)
    const runsAt = await podsByHand.at(name, 'runs')
    const endedAt = await podsByHand.at(name, 'ended')
    standIn.stop()
    return {
      whole: endedAt - createdAt,
      untilPod: 0,
      untilItRuns: runsAt - createdAt,
      run: endedAt - runsAt,
      afterIt: 0,
    }
  }

  const lives = { ours: [] as Life[], byHand: [] as Life[] }
  const calls = await followCalls()
  for (let round = 0; round < rounds; round++) {
    lives.ours.push(await runJob())
    if (template) lives.byHand.push(await runPod(template, `by-hand-${round}`))
  }
  const measuredCalls = await calls.perJob(rounds)
  await namespace.remove()

  const of = (whose: Life[], part: keyof Life) => median(whose.map((life) => life[part]))
  const part = (name: keyof Life) => `${name} ${seconds(of(lives.ours, name))} (${seconds(of(lives.byHand, name))})`
  console.log(
    `tax, medians, and by hand: ${(['untilPod', 'untilItRuns', 'run', 'afterIt'] as const).map(part).join(', ')}`,
  )
  await sayActivities('tax', ids, ['releaseAttempt', 'recordPhase', 'publishModel', 'finishJob'])
  return [
    {
      measure: `accepted → COMPLETED (${rounds})`,
      seen: `median ${seconds(of(lives.ours, 'whole'))}`,
      peer: `median ${seconds(of(lives.byHand, 'whole'))}`,
      compared: `${seconds(of(lives.ours, 'whole') - of(lives.byHand, 'whole'))} more`,
      target: '≤ 3 s more',
    },
    lagOf(`its program runs → readable (${rounds})`, lags),
    ...measuredCalls,
  ]
}
