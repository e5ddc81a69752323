import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { defineVerb } from './command.ts'
import { exitCodes } from './command-error.ts'
import { clientConfig } from './remote/client-config.ts'
import { readProfiles, writeProfiles } from './remote/profiles.ts'
import { UsageError } from './usage-error.ts'

const timeoutMs = 10_000

export const command = defineVerb({
  takes: { URL: 'the public address of a service, such as https://anneal.example.com' },
  options: { profile: { value: 'NAME', says: 'a name for the service (default: the host of the address)' } },
  note: `Takes the API key from ANNEAL_API_KEY, or asks for it and does not show it, or reads it from standard input. The key is checked,
then kept in ~/.config/anneal/profiles.json, which only you can read. Later commands use this service, unless --profile, --home
or ANNEAL_URL names another one.`,
  async run([text = ''], values) {
    if (!/^https?:/.test(text) || !URL.canParse(text))
      throw new UsageError('Give the address of the service, such as https://anneal.example.com.')
    const url = text.replace(/\/+$/, '')
    const name = values.profile ?? new URL(url).host
    const apiKey = clientConfig().apiKey ?? (await askForKey())
    if (apiKey === '') throw new UsageError('The key is empty.')
    const refusal = await check(url, apiKey)
    if (refusal !== null) {
      console.error(refusal.message)
      return refusal.exitCode
    }
    const { profiles } = readProfiles()
    writeProfiles({ current: name, profiles: { ...profiles, [name]: { url, apiKey } } })
    console.log(`Logged in to ${url} as the profile "${name}".`)
  },
})

async function askForKey(): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const isTerminal = process.stdin.isTTY
  if (isTerminal) process.stderr.write('API key: ')
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
    if (isTerminal) process.stderr.write('\n')
  }
}

/** A key without the scope of the route is valid, although the answer is 401; only the detail names a scope then. */
async function check(url: string, apiKey: string): Promise<{ message: string; exitCode: number } | null> {
  const options = { headers: { Authorization: `Bearer ${apiKey}` }, signal: AbortSignal.timeout(timeoutMs) }
  const response = await fetch(`${url}/v1/train/jobs?limit=1`, options).catch(() => null)
  if (response === null) return { message: `${url} does not answer.`, exitCode: exitCodes.unreachable }
  if (response.ok) return null
  if (response.status === 401 && /scope/.test(await response.text())) return null
  if (response.status === 401) return { message: `${url} does not accept this API key.`, exitCode: exitCodes.failed }
  return { message: `${url} answered ${response.status}. Is it an Anneal service?`, exitCode: exitCodes.failed }
}
