type Answer = { output_text?: unknown; output_tools?: unknown; finish_reason?: unknown }

/** The line that asks a grader's process for the score of one sample, which has `choices`, too, as in OpenAI's guide. */
export function gradingRequest(sample: object, item: unknown): string {
  const { output_text: content, output_tools: calls, finish_reason: reason = 'stop' }: Answer = sample
  const message = { role: 'assistant', content, tool_calls: calls }
  return JSON.stringify({ sample: { ...sample, choices: [{ index: 0, message, finish_reason: reason }] }, item })
}
