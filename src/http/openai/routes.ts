// OpenAI's interface, under /openai/v1: translations into the words of our services, and back. docs/openai.md says what maps to what.
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
