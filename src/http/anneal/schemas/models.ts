import { z } from 'zod'
import { maxEmbeddingTokens, type CatalogueEntry } from '../../../domain/catalogue.ts'
import { learnedForms, type Learned } from '../../../domain/learned.ts'
import { named } from '../../kit/named-schemas.ts'
import { CompletionRequest } from '../../lamini/schemas/completions.ts'
import { EmbeddingRequest } from '../../lamini/schemas/embeddings.ts'
import { JobScores } from '../../lamini/schemas/scores.ts'
import { Time } from '../../lamini/schemas/training-job.ts'
import { pathText, queryInt, queryText } from '../../kit/params.ts'

/** The models of /openai/v1 have these fields too. */
export const modelLimits = {
  context_length: z
    .int()
    .nullable()
    .describe('Tokens that the model reads at once, such as a prompt with its answer. Null if the base is gone'),
  max_input_tokens: z.int().nullable().describe('The most tokens of a text to embed'),
}

const facts = {
  learned_form: z
    .enum(learnedForms)
    .nullable()
    .describe(
      'The form of most rows that the model was tuned on; null for a base model, and for a model of an older release',
    ),
  has_chat_template: z
    .boolean()
    .describe('Whether the base has a chat template, which as_chat and chats need. False also where that is not known'),
  system_message: z
    .string()
    .nullable()
    .describe('The system message that most of these conversations begin with; null when there is none'),
}

/** @param entry the catalogue's entry of the model or of its base */
export const factsOf = (entry: CatalogueEntry | undefined, learned: Learned | null = null) => ({
  learned_form: learned?.form ?? null,
  has_chat_template: entry?.chatTemplate ?? false,
  system_message: learned?.systemMessage ?? null,
})

/** @param entry the catalogue's entry of the model or of its base */
export const limitsOf = (entry: CatalogueEntry | undefined) => ({
  context_length: entry?.contextLength ?? null,
  max_input_tokens: entry ? maxEmbeddingTokens(entry) : null,
})

const weights = {
  license: z
    .string()
    .nullable()
    .describe('The licence of the base, such as Apache-2.0; null when the catalogue names none'),
  parameter_count: z.int().nullable().describe('Parameters of the base; null when the catalogue names no number'),
}

/** @param entry the catalogue's entry of the model or of its base */
export const weightsOf = (entry: CatalogueEntry | undefined) => ({
  license: entry?.license ?? null,
  parameter_count: entry?.parameterCount ?? null,
})

const parameters = {
  completion: Object.keys(CompletionRequest.shape).toSorted(),
  embedding: Object.keys(EmbeddingRequest.shape).toSorted(),
} satisfies Record<CatalogueEntry['task'], string[]>

export const parametersOf = (task: CatalogueEntry['task']): string[] => parameters[task]

const Model = z.object({
  id: z.string().describe('Used as model_name in requests'),
  object: z.literal('model').describe('Always model'),
  created: z.int().describe('Seconds since 1970; 0 for the models of the catalogue'),
  owned_by: z.enum(['catalogue', 'account']).describe('catalogue: a base model; account: a tuned model'),
  task: z.enum(['completion', 'embedding']).describe('What the model does'),
  aliases: z
    .array(z.string())
    .describe('Other names in requests. Those of a tuned model are its version and its aliases, as in support-bot@3'),
  display_name: z
    .string()
    .describe('A name for people: pip@2, or "products, run 2" where the job gave no name; the id of a base model'),
  base_model: z.string().nullable().describe('Null for a base model'),
  job_id: z.int().nullable().describe('The job that trained the model; null for a base model'),
  recommended_args: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('finetune_args of a job on this model that names none; null unless it is a base model to train on'),
  ...modelLimits,
  ...weights,
  ...facts,
  starting: z
    .string()
    .nullable()
    .describe('What the server of the model is doing while it starts, such as fetching the model; null otherwise'),
  supported_parameters: z
    .array(z.string())
    .describe('Parameters of POST /v1/completions, or of the embedding, that the model honours'),
})
export type Model = z.output<typeof Model>

export const ModelList = named(
  'ModelList',
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(Model).describe('The base models, then the tuned models, newest first'),
  }),
)

export const ModelListQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 1000 })
    .optional()
    .describe('Number of tuned models; all when absent. The base models come with the first page and do not count'),
  after: queryText().optional().describe('The cursor from the Link header of the previous page'),
})

/** Room for a custom name of 256 characters with an alias. */
export const ModelPath = z.object({
  name: pathText(384).describe('A model: an id, a custom name, NAME@VERSION or NAME@ALIAS'),
})

export const AliasPath = z.object({
  name: pathText(256).describe('The custom name of the model'),
  alias: pathText(256).describe('The alias: the part after @'),
})

export const AliasBody = named(
  'ModelAliasRequest',
  z.object({ version: z.int().min(1).max(999_999_999).describe('A version of the name') }),
)

export const MovedAlias = named(
  'MovedModelAlias',
  z.object({
    name: z.string().describe('The name that the alias belongs to'),
    alias: z.string().describe('The alias, as in NAME@ALIAS'),
    version: z.int().describe('The version that the alias now leads to'),
    model_name: z.string().describe('The id of the version'),
    previous_version: z.int().nullable().describe('Null for a new alias'),
  }),
)

export const DeletedAlias = named(
  'DeletedModelAlias',
  z.object({
    name: z.string().describe('The name that the alias belonged to'),
    alias: z.string().describe('The alias that was removed'),
    message: z.string().describe('A sentence that says what was done'),
  }),
)

export const ModelVersionsQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 100 }).default(20).describe('Number of versions'),
  after: queryInt({ min: 1, max: 999_999_999 }).optional().describe('`next` of the previous page'),
})

export const ModelVersions = named(
  'ModelVersions',
  z.object({
    name: z.string().nullable().describe('Null for a model without a custom name'),
    versions: z
      .array(
        z.object({
          version: z.int().nullable().describe('The number of the version; null for a model without a custom name'),
          model_name: z.string().describe('The id, which never leads to another model'),
          status: z
            .enum(['COMPLETED', 'PARTIALLY COMPLETED'])
            .describe('The name alone leads to the newest COMPLETED version'),
          job_id: z.int().describe('The job that trained the version'),
          dataset_id: z.string().describe('The data set that it was trained on'),
          base_model: z.string().describe('The catalogue name of its base model'),
          ...facts,
          created_at: Time,
          parent: z
            .object({
              model_name: z.string().describe('The id of the tuned model'),
              name: z.string().nullable().describe('Its custom name; null without one'),
              version: z.int().nullable().describe('Its version; null without a custom name'),
            })
            .nullable()
            .describe('The tuned model that its training began from; null if it was the base model'),
          evaluation: z
            .object({
              rows: z.int().describe('Number of rows that were answered'),
              path: z.string().describe('The path that answers the results'),
              scores: JobScores.describe(
                'The summary of the results, by grader; null while the scores are computed, and if that takes too much time or memory',
              ),
            })
            .nullable()
            .describe('How the tuned and the base model answered; null without an evaluation'),
        }),
      )
      .describe('The versions of the page, newest first'),
    aliases: z
      .array(
        z.object({
          alias: z.string().describe('The alias'),
          version: z.int().describe('The version that it leads to'),
          moved_at: Time,
        }),
      )
      .describe('The aliases of the name'),
    next: z.int().nullable().describe('Send as `after` for older versions; null at the end'),
  }),
)

export const ModelDownload = named(
  'ModelDownload',
  z.object({
    model_name: z.string().describe('The id of the model'),
    base_model: z.string().describe('The catalogue name of its base model'),
    expires_in: z.int().describe('Seconds until the links expire'),
    files: z
      .array(
        z.object({
          name: z.string().describe('anneal.json is the manifest, README.md the card of the model'),
          url: z.string().describe('A link that needs no key'),
          size: z.int().describe('In bytes'),
          sha256: z.string().describe('The hash of the file, in hexadecimal'),
        }),
      )
      .describe('The files of the adapter'),
  }),
)

export const ModelCard = named(
  'ModelCard',
  z.object({
    model_name: z.string().describe('The id of the model'),
    display_name: z.string().describe('The name of the model for people'),
    text: z
      .string()
      .describe(
        'Markdown with the front matter that Hugging Face reads: base model, licence, data, scores, arguments, and how a program loads the adapter. Exports carry this text as README.md',
      ),
  }),
)

export const ModelDeleted = named(
  'ModelDeleted',
  z.object({
    model_name: z.string().describe('The id of the deleted model'),
    message: z.string().describe('A sentence that says what was done'),
  }),
)
