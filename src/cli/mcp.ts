import { serviceVerb } from './remote/remote-verb.ts'

export const command = serviceVerb({
  // The protocol's packages are loaded only here: the other commands need none.
  run: async ({ clientUntil, signal }) => (await import('./mcp/serve.ts')).serveTools({ clientUntil, signal }),
})
