// Which parameters a model honours, read from the schemas of the requests.
import type { z } from 'zod'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { ChatRequest } from './chat-schemas.ts'
import { CompletionRequest } from './completions.ts'
import { EmbeddingRequest } from './embeddings.ts'
import { isHonoured } from './unsupported-params.ts'

const honoured = ({ shape }: z.ZodObject): string[] =>
  Object.entries(shape).flatMap(([name, schema]) => (isHonoured(schema as z.ZodType) ? name : []))

const byTask: Record<CatalogueEntry['task'], string[]> = {
  completion: [...new Set([ChatRequest, CompletionRequest].flatMap(honoured))].toSorted(),
  embedding: honoured(EmbeddingRequest).toSorted(),
}

export const parametersOf = (task: CatalogueEntry['task']): string[] => byTask[task]
