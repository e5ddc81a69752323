import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { defineVerb } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { clientConfig } from './remote/client-config.ts'
import { inWordsOfCommands } from './remote/command-of-route.ts'
import { openProvider, payloadOf, tokensOf, type Provider } from './remote/identity-provider.ts'
import { keepProfile } from './remote/profiles.ts'
import { scopesOf, signInByBrowser, signInByCode } from './remote/sign-in.ts'
import { UsageError } from './usage-error.ts'

const timeoutMs = 10_000

export const command = defineVerb({
  takes: { URL: 'the public address of a service, such as https://anneal.example.com' },
  options: {
    profile: { value: 'NAME', says: 'a name for the service (default: the host of the address)' },
    sso: { says: 'sign in with the identity provider of the service, in place of a key' },
    account: { value: 'A', says: 'with --sso: the account to work in, if you have several' },
    device: { says: 'with --sso: by a code that you type in on another device; so too where no browser is' },
  },
  note: `With --sso a browser of this machine signs you in with the identity provider, and the token is renewed while the provider allows it.
Otherwise takes the API key from ANNEAL_API_KEY, or asks for it and does not show it, or reads it from standard input. The key is checked,
then kept in ~/.config/anneal/profiles.json, which only you can read. Later commands use this service, unless --profile, --home
or ANNEAL_URL names another one.`,
  async run([text = ''], values) {
    if (!/^https?:/.test(text) || !URL.canParse(text))
      throw new UsageError('Give the address of the service, such as https://anneal.example.com.')
    const url = text.replace(/\/+$/, '')
    const name = values.profile ?? new URL(url).host
    if (!values.sso && (values.account !== undefined || values.device))
      throw new UsageError('--account and --device belong to --sso.')
    if (values.sso) return signIn({ url, name, account: values.account ?? null, byCode: values.device ?? false })
    const apiKey = clientConfig().apiKey ?? (await askForKey())
    if (apiKey === '') throw new UsageError('The key is empty.')
    const refusal = await check(url, { Authorization: `Bearer ${apiKey}` })
    if (refusal !== null) {
      console.error(refusal.message)
      return refusal.exitCode
    }
    await keepProfile(name, { url, apiKey })
    console.log(`Logged in to ${url} as the profile "${name}".`)
  },
})

type SigningIn = { url: string; name: string; account: string | null; byCode: boolean }

async function signIn({ url, name, account, byCode }: SigningIn) {
  const { scopes, ...provider } = await providerOf(url)
  const opened = await openProvider(provider)
  const scope = scopesOf(opened, scopes)
  const isByCode = byCode || clientConfig().browser === null
  const granted = await (isByCode ? signInByCode(opened, scope) : signInByBrowser(opened, scope))
  const tokens = tokensOf(granted, provider)
  const chosen = account === null ? {} : { 'X-Anneal-Account': account }
  const refusal = await check(url, { Authorization: `Bearer ${tokens.token}`, ...chosen })
  if (refusal !== null) {
    console.error(refusal.detail ?? refusal.message)
    return refusal.exitCode
  }
  await keepProfile(name, { url, signedIn: { ...provider, ...tokens, account } })
  const { name: person, email, sub } = { ...payloadOf(granted.id_token ?? ''), ...payloadOf(tokens.token) }
  const known = [person, email, sub].find((each) => typeof each === 'string') ?? ''
  console.log(`Signed in to ${url} as ${JSON.stringify(known)}, kept as the profile "${name}".`)
}

/** @throws CommandError where people cannot sign in with the command line */
async function providerOf(url: string): Promise<Provider & { scopes: string }> {
  const response = await fetch(`${url}/v1/sign-in`, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => null)
  if (response === null) throw new CommandError(`${url} does not answer.`, exitCodes.unreachable)
  if (!response.ok) throw new CommandError(`${url} answered ${response.status}. Is it an Anneal service?`)
  const { provider } = (await response.json()) as { provider: Shown | null }
  const clientId = provider?.cli_client_id ?? null
  if (!provider || clientId === null)
    throw new CommandError(
      provider
        ? `${url} names no client of its identity provider for the command line. Its operator sets ANNEAL_OIDC_CLI_CLIENT_ID; API keys work meanwhile.`
        : `${url} has no identity provider. Log in with an API key, without --sso.`,
    )
  return { issuer: provider.issuer, clientId, audience: provider.audience, scopes: provider.scopes }
}

/** Services of earlier releases name no client of the command line. */
type Shown = { issuer: string; cli_client_id?: string | null; audience: string; scopes: string }

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

type Refusal = { message: string; exitCode: number; detail?: string | undefined }

/** A key without the scope of the route is valid, although the answer is 401; only the detail names a scope then. */
async function check(url: string, headers: Record<string, string>): Promise<Refusal | null> {
  const options = { headers, signal: AbortSignal.timeout(timeoutMs) }
  const response = await fetch(`${url}/v1/train/jobs?limit=1`, options).catch(() => null)
  if (response === null) return { message: `${url} does not answer.`, exitCode: exitCodes.unreachable }
  if (response.ok) return null
  const text = await response.text()
  if (response.status === 401 && /scope/.test(text)) return null
  const refusal = { detail: inWordsOfCommands(detailOf(text) ?? ''), exitCode: exitCodes.failed }
  if (response.status === 401) return { ...refusal, message: `${url} does not accept this API key.` }
  return { ...refusal, message: `${url} answered ${response.status}. Is it an Anneal service?` }
}

function detailOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail
  } catch {
    return undefined
  }
}
