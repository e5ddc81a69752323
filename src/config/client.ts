// The variables of the command line, read without zod, which takes longer to load than a command to run.

import { homedir } from 'node:os'
import { join } from 'node:path'

/** Which service the command line talks to, when it is not the one of a data directory. @throws Error naming each wrong variable */
export function readClientConfig(environment: NodeJS.ProcessEnv = process.env) {
  const wrong = ['ANNEAL_URL', 'ANNEAL_ADMIN_URL'].filter((name) => {
    const text = environment[name]
    return text !== undefined && !URL.canParse(text)
  })
  if (wrong.length > 0) throw new Error(`The environment is not valid: ${wrong.join(' and ')} must be a URL.`)
  return {
    url: environment['ANNEAL_URL'],
    apiKey: environment['ANNEAL_API_KEY'] || undefined,
    /** The admin port, and the operator's token or a key with the scope admin. */
    adminUrl: environment['ANNEAL_ADMIN_URL'],
    adminToken: environment['ANNEAL_ADMIN_TOKEN'] || undefined,
    /** The program with its arguments that opens an address; null where nobody would see a browser. */
    browser: browserOf(environment),
    profilesPath: join(environment['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'anneal/profiles.json'),
  }
}

function browserOf({ BROWSER: chosen, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: NodeJS.ProcessEnv): string[] | null {
  if (chosen) return [chosen]
  if (process.platform === 'darwin') return SSH_CONNECTION ? null : ['open']
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : null
}
