// OpenAI's API under /openai/v1, translated to our services and back. docs/openai.md has the mapping.
import { chatRoutes } from './chat.ts'
import { completionRoutes } from './completions.ts'
import { embeddingRoutes } from './embeddings.ts'
import { fileRoutes } from './files.ts'
import { fineTuningJobRoutes } from './fine-tuning-jobs.ts'
import { fineTuningRecordRoutes } from './fine-tuning-records.ts'
import { modelRoutes } from './models.ts'

export const openAiRoutes = [
  ...modelRoutes,
  ...chatRoutes,
  ...completionRoutes,
  ...embeddingRoutes,
  ...fileRoutes,
  ...fineTuningJobRoutes,
  ...fineTuningRecordRoutes,
]
