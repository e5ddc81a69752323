/** `data` is JSON text. */
export type ServerSentEvent = { id: string; event: string; data: string }

/** Reads the events of our own streams: each has an id, a name and one line of data. Comments are skipped. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    // An event counts once its empty line has arrived: the connection may break within one.
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => fieldOf(line)))
      const [id, event, data] = [fields.get('id'), fields.get('event'), fields.get('data')]
      if (id !== undefined && event !== undefined && data !== undefined) yield { id, event, data }
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(': ')
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 2)]
}
