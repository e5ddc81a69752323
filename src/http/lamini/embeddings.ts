import { createEmbeddings } from '../../services/embeddings/create.ts'
import { defineRoute } from '../kit/route.ts'
import { EmbeddingAnswer, EmbeddingRequest } from './schemas/embeddings.ts'

export const embeddingRoutes = [
  defineRoute({
    name: 'embedding',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1/inference/embedding',
    aliases: ['/v1/embedding'],
    summary: 'Embed one text or many',
    access: 'key',
    scope: 'inference',
    body: EmbeddingRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    allowsNul: true,
    response: EmbeddingAnswer,
    async handle({ caller: ctx, body: { prompt, model_name: modelName, truncate }, signal }) {
      const texts = typeof prompt === 'string' ? [prompt] : prompt
      const onLong = truncate ? ('cut' as const) : ('refuse' as const)
      const vectors = await createEmbeddings({ ctx, input: { modelName: modelName ?? null, texts, onLong }, signal })
      return { embedding: typeof prompt === 'string' ? (vectors[0] ?? []) : vectors }
    },
  }),
]
