import { createCompletion, type CompleteInput } from './create.ts'
import type { PromptsAsked } from './read-input.ts'

type Asked = Parameters<typeof createCompletion>[0] & { input: CompleteInput<PromptsAsked> }

/** Enough to fill an engine's batch. */
const streamsAtOnce = 32

/**
 * Streams the answer to each prompt, several at once. Calls carry the position of the prompt. The first failure ends all.
 * @throws as createCompletion
 */
export async function streamCompletions({
  ctx,
  input,
  signal,
  onText,
  onEnd,
  onUsage,
}: Omit<Asked, 'onText'> & {
  onText: (index: number, piece: string, logprobs?: unknown) => void
  onEnd: (index: number, finishReason: string) => void
}): Promise<void> {
  const failed = new AbortController()
  const asked = { ctx, signal: AbortSignal.any([signal, failed.signal]), onUsage }
  const { prompts: all } = input.input
  const prompts = all.entries()
  const streamNext = async () => {
    for (const [index, prompt] of prompts) {
      const own = {
        input: { ...input, input: { ...input.input, prompts: [prompt] } },
        onText: (piece: string, logprobs?: unknown) => onText(index, piece, logprobs),
      }
      const { finishReasons } = await createCompletion({ ...asked, ...own })
      onEnd(index, finishReasons[0] ?? 'stop')
    }
  }
  const streams = Array.from({ length: Math.min(streamsAtOnce, all.length) }, () =>
    streamNext().catch((error: unknown) => failed.abort(error)),
  )
  await Promise.all(streams)
  failed.signal.throwIfAborted()
}
