import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { ModelName, Prompt } from './prompt.ts'

export const EmbeddingRequest = named('EmbeddingRequest', z.object({ prompt: Prompt, model_name: ModelName.nullish() }))

const Vector = z.array(z.number())

export const EmbeddingAnswer = named('EmbeddingAnswer', z.object({ embedding: z.union([Vector, z.array(Vector)]) }))
