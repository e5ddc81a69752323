import { defineRoute } from '../../http/kit/route.ts'
import { commitArtifact, createArtifact } from '../../services/attempt-api/artifacts.ts'
import type { UploadPlace } from '../../services/attempt-api/uploads.ts'
import { ArtifactPath, NewArtifactAnswer, NewArtifactRequest } from '../schemas/artifact.ts'
import { Done } from '../schemas/attempt.ts'

export const placeOf = (place: UploadPlace) =>
  'url' in place ? place : { name: place.name, part_size: place.partBytes, urls: place.urls }

export const artifactRoutes = [
  defineRoute({
    name: 'create_artifact',
    method: 'post',
    path: '/internal/v1/attempt/artifacts',
    summary: 'Get URLs to upload a checkpoint or the model to',
    access: 'pod',
    body: NewArtifactRequest,
    response: NewArtifactAnswer,
    async handle({ caller: pod, body: { kind, step, files } }) {
      const sized = files.map(({ name, size, sha256 }) => ({ name, sizeBytes: size, sha256 }))
      const { artifactId, uploads } = await createArtifact({ pod, input: { kind, step, files: sized } })
      return { artifact_id: artifactId, uploads: uploads.map(placeOf) }
    },
  }),
  defineRoute({
    name: 'commit_artifact',
    method: 'post',
    path: '/internal/v1/attempt/artifacts/:artifact_id/commit',
    summary: 'Commit an artifact whose files are all uploaded',
    access: 'pod',
    params: ArtifactPath,
    response: Done,
    async handle({ caller: pod, params }) {
      await commitArtifact({ pod, input: { artifactId: params.artifact_id } })
      return {}
    },
  }),
]
