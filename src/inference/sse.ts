// Server-sent events as OpenAI's engines write them: one line of JSON each, and [DONE] after the last.

/** Yields the data of each event. @throws SyntaxError when an event is not JSON */
export async function* eventsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let waiting = ''
  for await (const piece of pieces) {
    const lines = (waiting + decoder.decode(piece, { stream: true })).split('\n')
    waiting = lines.pop() ?? ''
    for (const line of lines) {
      const data = /^data: ?(.*?)\r?$/.exec(line)?.[1]
      if (data !== undefined && data !== '[DONE]') yield JSON.parse(data)
    }
  }
}
