// Reads server-sent events.

export type StreamEvent = { id: string | null; type: string; data: string }

/** The returned function takes text as it arrives, and gives the events that are whole. */
export function createEventParser(): (text: string) => StreamEvent[] {
  let rest = ''
  return (text) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.map(eventOf).filter((event) => event.data !== '' || event.type !== 'message')
  }
}

function eventOf(block: string): StreamEvent {
  const event: StreamEvent = { id: null, type: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (name === 'data') data.push(value)
    else if (name === 'event') event.type = value
    else if (name === 'id') event.id = value
  }
  return { ...event, data: data.join('\n') }
}
