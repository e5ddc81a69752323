// What a request to train tells and does not get: names that are not known, and values without effect.
import type { z } from 'zod'
import { ignored, notesOnNames } from '../../domain/argument-names.ts'
import type { FinetuneArgs, TrainingNote } from '../../domain/training-args.ts'
import { trainNames, type TrainQuery, type TrainRequest } from './schemas/train.ts'

type TrainBody = z.output<typeof TrainRequest>
type Sent = { body: TrainBody; query: z.output<typeof TrainQuery> }

/** The arguments of both fields, and what to tell about the request. */
export function argsOf({ body, query }: Sent): { finetuneArgs: FinetuneArgs; notes: TrainingNote[] } {
  const { finetune_args: sent, peft_args: peft } = body
  const given = present(sent?.args)
  const replaced = Object.entries(present(peft?.args)).filter(
    ([name, value]) => name in given && JSON.stringify(given[name]) !== JSON.stringify(value),
  )
  return {
    finetuneArgs: { ...peft?.args, ...given },
    notes: [
      ...(sent?.notes ?? []),
      ...(peft?.notes ?? []),
      ...replaced.map(([name]) => ignored(`peft_args.${name} has no effect, because finetune_args has another one.`)),
      ...notesOnNames(null, body, trainNames.body, trainNames.elsewhere),
      ...notesOnNames('gpu_config', body.gpu_config ?? {}, trainNames.gpu_config),
      ...notesOnNames('evaluation', body.evaluation ?? {}, trainNames.evaluation),
      ...notesOnNames('the query', query, ['dry_run', 'preview']),
      ...withoutEffect(body),
    ],
  }
}

const present = (args: FinetuneArgs | undefined): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args ?? {}).filter(([, value]) => (value ?? null) !== null))

function withoutEffect({ enable_peft: isPeft, train_type: type, is_public: isPublic, gpu_config: gpus }: TrainBody) {
  const isAdapter = 'has no effect: an adapter is trained in any case.'
  const told = [
    ...(isPeft === false ? [`enable_peft: false ${isAdapter}`] : []),
    ...(type ? [`train_type: ${type} ${isAdapter}`] : []),
    ...(isPublic ? ['is_public: true has no effect: jobs and models are private to the account.'] : []),
    ...(['gpus', 'nodes'] as const).flatMap((name) => {
      const [newer, older] = [gpus?.[name] ?? null, gpus?.[`max_${name}`] ?? null]
      if (newer === null || older === null || newer === older) return []
      return [`gpu_config.max_${name} has no effect, because gpu_config.${name} is ${newer}.`]
    }),
  ]
  return told.map(ignored)
}
