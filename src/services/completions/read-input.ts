// What is asked of a model, as the engine gets it: with the rows stored for it, and through its chat template where wanted.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { chatOf, measured, type Chat } from '../../domain/chat.ts'
import type { BatchItem } from '../../domain/inference-batch.ts'
import { systemMessageOf, type ChatOptions, type Learned } from '../../domain/learned.ts'
import { isText, type Prompt } from '../../domain/prompt.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { CompletionRequest } from '../../inference/request.ts'
import type { ModelCtx } from '../context.ts'
import { retrieveRows } from '../stored-data/retrieve-rows.ts'

/** Rows stored under `dataId` are put before related prompts. Null uses the rows stored under the model's name. */
type WithRows = { dataId: string | null }

/** `specialTokens` false: special tokens such as `</s>` are letters in the prompts. */
export type PromptsAsked = WithRows & { kind: 'prompts'; prompts: readonly Prompt[]; specialTokens: boolean }

/** Each question is a chat of its own; one without messages gets the system message of the options. */
export type QuestionsAsked = WithRows & { kind: 'questions'; questions: readonly BatchItem[]; chat: ChatOptions }

/** A conversation gets no stored rows. */
type ChatAsked = Chat & { kind: 'chat' }

export type Asked = PromptsAsked | QuestionsAsked | ChatAsked

type Place = { accountId: string; collection: string }
type Target = { baseModel: CatalogueEntry; learned: Learned | null; place: Place | null }

/** @throws ServiceError invalid_input */
export async function readInput(
  ctx: ModelCtx,
  asked: Asked,
  { baseModel, learned, place }: Target,
  signal: AbortSignal,
): Promise<CompletionRequest['input']> {
  switch (asked.kind) {
    case 'chat':
      return { kind: 'chat', chats: [measured(asked)] }
    case 'questions': {
      requireChatTemplate(baseModel)
      const system = systemMessageOf(asked.chat, learned)
      const chats = asked.questions.map((question) =>
        measured(typeof question === 'string' ? chatOf(question, system) : question),
      )
      const prompts = chats.map(({ messages }) => messages.at(-1)?.content ?? '')
      return { kind: 'chat', chats, rows: place && (await retrieveRows({ ctx, place, prompts, signal })) }
    }
    case 'prompts': {
      const { prompts, specialTokens } = asked
      // Rows are put before texts: the tokens of a prompt stay as they came.
      const rows = place && prompts.every(isText) ? await retrieveRows({ ctx, place, prompts, signal }) : null
      const textLengths = specialTokens ? undefined : prompts.map(({ length }) => length)
      return { kind: 'prompts', prompts, rows, textLengths }
    }
  }
}

/** The model server refuses a model whose files were not looked into. @throws ServiceError invalid_input */
export function requireChatTemplate(
  { name, chatTemplate }: Pick<CatalogueEntry, 'name' | 'chatTemplate'>,
  path = 'as_chat',
) {
  if (chatTemplate === false)
    throw invalidInput(path, `${name} has no chat template, so it takes plain prompts only. Leave ${path} out.`)
}
