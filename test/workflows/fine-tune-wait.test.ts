// What a fine-tune shows while its attempt waits. The workflow is the real one, in the SDK's sandbox.
import { defaultPayloadConverter, type Payload } from '@temporalio/common'
import { msToTs } from '@temporalio/common/lib/time.js'
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ShownWait } from '../../workflows/contract.ts'
import { bundleWorkflows } from '../lab/simulation/temporal/bundle.ts'
import { createSandbox, type Job } from '../lab/simulation/temporal/sandbox.ts'

const payloads = (...values: unknown[]) => values.map((value) => defaultPayloadConverter.toPayload(value))
const valueOf = (payload: unknown) => defaultPayloadConverter.fromPayload<unknown>(payload as Payload)

suite('a fine-tune that waits for a slot', async () => {
  const sandbox = await createSandbox(await bundleWorkflows())

  /** A workflow whose attempt 1 has asked for a slot in vain. */
  async function openWaiting() {
    const about = { type: 'fineTune', workflowId: 'fine-tune-7', runId: 'run', startMs: 1000 }
    const live = await sandbox.open(about, [])
    let atMs = about.startMs
    const activate = async (job: Job) => (await live.activate({ atMs: ++atMs, jobs: [job] })).commands
    const resolve = async (seq: number, value: unknown) =>
      activate({ resolveActivity: { seq, result: { completed: { result: payloads(value)[0] } } } })
    const [first] = payloads({ jobId: 7, generation: 1 })
    const started = { workflowType: about.type, workflowId: about.workflowId, firstExecutionRunId: about.runId }
    await activate({
      initializeWorkflow: { ...started, attempt: 1, arguments: [first], startTime: msToTs(about.startMs) },
    })
    await resolve(1, undefined)
    await resolve(2, { attempt: 1 })
    await resolve(3, 'waiting')
    return {
      /** @returns the names of the commands, each of which becomes an event */
      tell: async (wait: ShownWait) => {
        const commands = await activate({ signalWorkflow: { signalName: 'wait', input: payloads(wait) } })
        // The list is one of the sandbox.
        return Array.from(commands).flatMap((command) =>
          Object.keys(command).filter((key) => key.endsWith('Attributes')),
        )
      },
      ask: async (queryType: string) => {
        const [answer] = await activate({
          queryWorkflow: { queryId: 'q', queryType, arguments: [] },
          variant: 'queryWorkflow' as never,
        })
        const { succeeded } = (answer ?? assert.fail())['respondToQuery'] as { succeeded: { response: unknown } }
        return valueOf(succeeded.response) as { currentDetails?: string; reason?: string | null }
      },
      close: () => live.dispose(),
    }
  }

  const place = (ahead: number): ShownWait => ({
    ...{ attempt: 1, reason: 'waiting_for_slot' },
    message: `${ahead} ahead; 1 slot, held by job 6 since 2026-11-20 03:20 UTC`,
  })

  test('shows its reason and its place, and a change of the place adds no event', async () => {
    const { tell, ask, close } = await openWaiting()
    assert.deepEqual(await tell(place(92)), ['upsertWorkflowSearchAttributes'])
    assert.deepEqual(await tell(place(46)), [])
    const { currentDetails } = await ask('__temporal_workflow_metadata')
    assert.match(currentDetails ?? '', /\*\*QUEUED\*\* · attempt 1 · 46 ahead; 1 slot, held by job 6/)
    assert.equal((await ask('status')).reason, 'waiting_for_slot')
    assert.deepEqual(await tell({ attempt: 1, reason: 'maintenance', message: 'Stopped.' }), [
      'upsertWorkflowSearchAttributes',
    ])
    close()
  })

  test('takes no word about another attempt', async () => {
    const { tell, ask, close } = await openWaiting()
    assert.deepEqual(await tell({ ...place(92), attempt: 2 }), [])
    assert.equal((await ask('status')).reason, null)
    close()
  })

  test('says in the Temporal UI what each query, signal and update is for', async () => {
    const { ask, close } = await openWaiting()
    const { definition } = (await ask('__temporal_workflow_metadata')) as {
      definition: Record<string, { name: string; description?: string }[]>
    }
    const named = ['queryDefinitions', 'signalDefinitions', 'updateDefinitions'].flatMap(
      (kind) => definition[kind] ?? [],
    )
    const ours = named.filter(({ name }) => !name.startsWith('__'))
    assert.deepEqual(ours.map(({ name }) => name).toSorted(), [
      'cancel',
      'cancel',
      'nextAction',
      'phase',
      'progress',
      'resume',
      'slot',
      'status',
      'wait',
    ])
    for (const { name, description } of ours) assert.ok(description, name)
    close()
  })
})
