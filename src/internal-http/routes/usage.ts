// The usage of every account. A key with the scope admin sees that of its own.
import { jobDisplayName } from '../../domain/display-name.ts'
import { isModelId } from '../../domain/model-reference.ts'
import { costMicros, type Prices } from '../../domain/prices.ts'
import { FileBytes } from '../../http/kit/respond.ts'
import { defineRoute } from '../../http/kit/route.ts'
import type { AccountUsage } from '../../repositories/operator-views.ts'
import {
  accountUsageDimensions,
  getAccountUsage,
  readAccountUsage,
  type AccountUsageDimension,
} from '../../services/admin/usage.ts'
import { csvLine } from '../csv.ts'
import { AccountUsageAnswer, AccountUsageQuery } from '../schemas/usage.ts'

const defaultPageSize = 100

type Shape = { by: readonly AccountUsageDimension[]; prices: Prices | null }

export const accountUsageRoutes = [
  defineRoute({
    name: 'get_usage_of_accounts',
    method: 'get',
    path: '/internal/v1/admin/usage',
    summary: 'Get the usage of one account or of all by account, model and day, as JSON or CSV',
    access: 'admin',
    query: AccountUsageQuery,
    response: AccountUsageAnswer,
    async handle({ caller: admin, query, setHeader }) {
      const by = query.group_by ?? accountUsageDimensions
      const { prices } = admin.deps.settings
      const { from = null, to = null, after = null, account_id: accountId = null, limit = defaultPageSize } = query
      const input = { from, to, by, accountId }
      if (query.format === 'csv') {
        setHeader('Content-Disposition', 'attachment; filename="usage.csv"')
        return new FileBytes(
          csvOf({ by, prices }, await readAccountUsage({ admin, input })),
          null,
          'text/csv; charset=utf-8',
        )
      }
      const { lines, ...page } = await getAccountUsage({ admin, input: { ...input, after, limit } })
      const usage = lines.map((line) => usageLine({ by, prices }, line))
      return { ...page, ...(prices && { currency: prices.currency }), usage }
    },
  }),
]

const usageLine = ({ by, prices }: Shape, line: AccountUsage) => ({
  ...(by.includes('day') && { day: line.day }),
  ...(by.includes('account') && { account_id: line.accountId, account_name: line.accountName }),
  ...(by.includes('model') && { model_name: line.model, display_name: modelName(line) }),
  prompts: line.prompts,
  prompt_tokens: line.promptTokens,
  completion_tokens: line.completionTokens,
  engine_seconds: line.engineSeconds,
  training_seconds: line.trainingSeconds,
  gpu_seconds: line.gpuSeconds,
  ...(prices && { cost_micros: costMicros(prices, line) }),
})

/** Null for a tuned model that was deleted. */
function modelName({ model, parts }: AccountUsage): string | null {
  if (!isModelId(model)) return model
  return parts && jobDisplayName(parts)
}

/** The columns are those of the JSON, and the currency. */
async function* csvOf(shape: Shape, pages: AsyncIterable<AccountUsage[]>): AsyncGenerator<Buffer> {
  const { by, prices } = shape
  const columns = [
    ...(by.includes('day') ? ['day'] : []),
    ...(by.includes('account') ? ['account_id', 'account_name'] : []),
    ...(by.includes('model') ? ['model_name', 'display_name'] : []),
    ...['prompts', 'prompt_tokens', 'completion_tokens', 'engine_seconds', 'training_seconds', 'gpu_seconds'],
    ...(prices ? ['cost_micros', 'currency'] : []),
  ]
  let head = csvLine(columns)
  for await (const lines of pages) {
    const text = lines.map((line) => {
      const cells: Record<string, string | number | null> = {
        ...usageLine(shape, line),
        currency: prices?.currency ?? null,
      }
      return csvLine(columns.map((column) => cells[column] ?? ''))
    })
    yield Buffer.from(head + text.join(''))
    head = ''
  }
}
