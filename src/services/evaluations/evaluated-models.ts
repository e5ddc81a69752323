// The models of an evaluation, and the form in which each is asked.
import { chatOptionsOf, systemMessageOf, type ChatOptions } from '../../domain/learned.ts'
import type { EvaluatedModel } from '../../domain/model-evaluation.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { requireChatTemplate } from '../completions/read-input.ts'
import type { Ctx } from '../context.ts'
import { lookUpTuned, pinModel } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'

export type EvaluationForm = {
  /** Absent: each model is asked in the form that it learned. */
  asChat?: boolean | undefined
  /** The system message of chats without one of their own; absent: the one that the model learned. */
  system?: string | undefined
}

type Found = EvaluatedModel & { baseModel: string; isBase: boolean }

/**
 * Finds what each name means now. A base model is asked as a model that was tuned from it, so that the two can be compared.
 * @throws ServiceError model_not_found, invalid_input
 */
export async function findEvaluated(
  ctx: Ctx,
  names: readonly string[],
  form: EvaluationForm,
): Promise<EvaluatedModel[]> {
  const found: Found[] = []
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index) throw invalidInput(`models[${index}]`, `The model "${name}" is named twice.`)
    found.push(await findOne(ctx, name, { path: `models[${index}]`, form }))
  }
  return found.map(({ baseModel, isBase, ...model }) => {
    const beside = isBase && form.asChat !== false && found.find((each) => isTunedFrom(baseModel, each) && each.chat)
    return { ...model, ...(beside && beside.chat && { chat: beside.chat }) }
  })
}

const isTunedFrom = (base: string, { isBase, baseModel }: Found) => !isBase && baseModel === base

async function findOne(ctx: Ctx, name: string, { path, form }: { path: string; form: EvaluationForm }): Promise<Found> {
  const modelName = await completionModel(ctx, name, path)
  const { baseModel, adapter, learned } = await resolveModel(ctx, modelName)
  const chat = chatOptionsOf(form, learned)
  if (chat && form.asChat) requireChatTemplate(baseModel)
  return {
    name,
    modelName,
    baseModel: baseModel.name,
    isBase: adapter === null,
    ...((await readsPlainText(ctx, modelName)) && { specialTokens: false }),
    // The message is named, because a base model beside this one has not learned it.
    ...(chat && { chat: { system: systemMessageOf(chat, learned) ?? '' } satisfies ChatOptions }),
  }
}

/** Whether the model was trained on prompts in which special tokens do not act. It is asked as it was trained. */
async function readsPlainText(ctx: Ctx, modelName: string): Promise<boolean> {
  const { catalogue, database } = ctx.deps
  const tuned = catalogue.find(modelName) ? null : await lookUpTuned(ctx, modelName)
  const job = tuned && (await database.trainingJobs.find(ctx.accountId, tuned.jobId))
  return job?.spec.args.special_tokens === false
}

/** What a name means now. @throws ServiceError model_not_found, invalid_input naming `path` */
export async function completionModel(ctx: Ctx, name: string, path: string): Promise<string> {
  const { baseModel, adapter } = await resolveModel(ctx, name)
  if (baseModel.task !== 'completion')
    throw invalidInput(path, `"${name}" is an embedding model and cannot complete prompts.`)
  return adapter ? (await pinModel(ctx, name)).modelName : baseModel.name
}
