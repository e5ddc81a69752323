// OpenAI's API under /openai/v1, translated to our services and back. docs/openai.md has the mapping.
import { batchRoutes } from './batches.ts'
import { chatRoutes } from './chat.ts'
import { completionRoutes } from './completions.ts'
import { embeddingRoutes } from './embeddings.ts'
import { evalRunRoutes } from './eval-runs.ts'
import { evalRoutes } from './evals.ts'
import { fileRoutes } from './files.ts'
import { fineTuningJobRoutes } from './fine-tuning-jobs.ts'
import { fineTuningRecordRoutes } from './fine-tuning-records.ts'
import { graderRoutes } from './graders.ts'
import { modelRoutes } from './models.ts'
import { responseRoutes } from './responses.ts'
import { uploadRoutes } from './uploads.ts'

const base = '/openai/v1/'

export const openAiRoutes = [
  ...modelRoutes,
  ...chatRoutes,
  ...responseRoutes,
  ...completionRoutes,
  ...embeddingRoutes,
  ...fileRoutes,
  ...uploadRoutes,
  ...batchRoutes,
  ...evalRoutes,
  ...evalRunRoutes,
  ...fineTuningJobRoutes,
  ...fineTuningRecordRoutes,
  ...graderRoutes,
]

/** The newest clients of the old platform ask for OpenAI's API here. */
export const openAiAliases = { '/inf/': base }

/** Names of models may hold slashes, and many clients do not encode them. */
export const withEncodedModel = (url: string) =>
  url.replace(
    /^(\/openai\/v1\/models\/)([^?]*[^?/])/,
    (_, path: string, name: string) => path + name.replaceAll('/', '%2F'),
  )

const firstWords = new Set(openAiRoutes.map(({ path }) => path.slice(base.length).split('/')[0]))

/** @returns a sentence for a client of OpenAI's API whose base URL is wrong */
export function openAiHint(path: string): string | null {
  const word = /^(?:\/openai)?(?:\/v\d+)?\/(\w+)/.exec(path)?.[1]
  if (path.startsWith(base) || !firstWords.has(word)) return null
  return "OpenAI's API is under /openai/v1: end the client's base URL with /openai/v1."
}
