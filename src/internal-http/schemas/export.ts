import { z } from 'zod'
import { ArtifactFile, ArtifactFiles, UploadPlaces } from './artifact.ts'
import { ClaimAnswer, ClaimRequest, FailureRequest } from './attempt.ts'

export const ExportClaimRequest = ClaimRequest.pick({ runtime_version: true })

export const ExportClaim = z.object({
  export_id: z.uuid(),
  model_name: z.string(),
  base_model: ClaimAnswer.shape.base_model,
  adapter: z.array(ArtifactFile.extend({ url: z.string() })),
})

export const ExportFiles = z.object({ files: ArtifactFiles })
export const ExportUploads = z.object({ uploads: UploadPlaces })
export const ExportFailure = FailureRequest.pick({ message: true })
