import { canonicalJson, sha256Hex } from '../../domain/identifiers.ts'
import type { TrainingSpec } from '../../domain/training-job.ts'

/** A job resumes only from checkpoints with its own hash. */
export const specHash = ({ baseModel, args, dataKey, startFrom, method, sources }: TrainingSpec) =>
  sha256Hex(
    canonicalJson({
      baseModel: { name: baseModel.name, source: baseModel.source, sha256: baseModel.sha256 },
      args,
      dataKey,
      ...(sources && { sources: sources.map(({ dataKey: key, weight }) => ({ dataKey: key, weight })) }),
      ...(startFrom && { startFrom: startFrom.modelName }),
      ...(method && {
        method: {
          type: method.type,
          hyperparameters: method.hyperparameters,
          ...(method.task && { task: method.task }),
        },
      }),
    }),
  )
