import { z } from 'zod'
import { isRolloutFile, rolloutFileNames } from '../../domain/rollouts.ts'
import { artifactKinds } from '../../domain/training-job.ts'

export const ArtifactFile = z.object({
  name: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be 1 to 100 letters, digits, ".", "_" or "-"'),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits'),
})

export const ArtifactFiles = z
  .array(ArtifactFile)
  .min(1)
  .max(64)
  .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, 'must name each file once')

export const NewArtifactRequest = z
  .object({
    kind: z
      .enum(artifactKinds)
      .describe(
        'rollouts: the answers of a step, or their rewards, in one file of a name that docs/internal-api.md has',
      ),
    step: z.int32().min(0),
    files: ArtifactFiles,
  })
  .refine(({ kind, files }) => kind !== 'rollouts' || (files.length === 1 && isRolloutFile(files[0]?.name)), {
    path: ['files'],
    error: `must hold one file of rollouts: ${rolloutFileNames.join(', ')}`,
  })

export const UploadPlaces = z.array(
  z.union([
    z.object({ name: z.string(), url: z.string() }),
    z
      .object({ name: z.string(), part_size: z.int(), urls: z.array(z.string()) })
      .describe('A file in parts: each but the last has `part_size` bytes'),
  ]),
)

export const NewArtifactAnswer = z.object({
  artifact_id: z.uuid(),
  uploads: UploadPlaces,
})

export const ArtifactPath = z.object({ artifact_id: z.uuid() })
