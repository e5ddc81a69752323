import { bootstrapInstallation } from '../compose/bootstrap.ts'
import { readCommandDatabase } from '../config/database.ts'
import { readConnection } from '../embedded/connection.ts'
import { describeHome } from '../embedded/data-directory.ts'
import { exitCodes } from './command-error.ts'
import { defineVerb } from './command.ts'
import { homeOption, parseHome } from './options.ts'
import { UsageError } from './usage-error.ts'

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export const command = defineVerb({
  options: {
    account: { value: 'NAME', says: 'name of the account', default: 'default' },
    key: { value: 'NAME', says: 'name of the key', default: 'first key' },
    secret: {
      value: 'NAME',
      says: 'writes the key into this Secret of Kubernetes, as ANNEAL_API_KEY, and does not print it',
    },
    namespace: { value: 'NAME', says: "namespace of the Secret (default: the pod's, or that of the current context)" },
    'new-key': { says: 'makes one more key if one exists: for a key that is lost. Earlier keys stay valid' },
    home: homeOption,
  },
  note: `Works on the database in DATABASE_URL, or on that of the service that runs on the data directory. Only the key goes to
standard output, once: the database has no more than its hash.
Exit codes: ${exitCodes.done} account and key exist · ${exitCodes.failed} refused, with the reason`,
  async run(_args, { account, key, secret, namespace, 'new-key': newKey = false, home }) {
    const secretName = secret === undefined ? null : { name: dns('secret', secret), namespace: null as string | null }
    if (namespace !== undefined) {
      if (!secretName) throw new UsageError('--namespace is for --secret, which is missing.')
      secretName.namespace = dns('namespace', namespace)
    }
    const input = { accountName: named('account', account), keyName: named('key', key), newKey }
    try {
      const done = await bootstrapInstallation(databaseOf(home), input, secretName)
      for (const line of report(done, input.accountName, secret)) console.error(line)
      if (done.made && secret === undefined) console.log(done.made.secret)
      return exitCodes.done
    } catch (error) {
      console.error(`Nothing was made: ${error instanceof Error ? error.message : String(error)}`)
      return exitCodes.failed
    }
  },
})

type Done = Awaited<ReturnType<typeof bootstrapInstallation>>

function report({ account, isNewAccount, made, earlierKeyIds, secretHasKey }: Done, name: string, secret?: string) {
  const where = secret === undefined ? 'It is printed once:' : `The Secret ${secret} has it.`
  const earlier = earlierKeyIds.map((id) => `Key ${id} ${made ? 'stays valid' : 'exists'}.`)
  return [
    `Account ${name} (${account.id}) ${isNewAccount ? 'was made' : 'exists'}.`,
    ...earlier,
    ...(made ? [`Key ${made.id} was made, with all scopes. ${where}`] : []),
    ...(!made && secretHasKey === false ? [`The Secret ${secret} has no key. If the key is lost, add --new-key.`] : []),
    ...(!made && secret === undefined ? ['Its secret is not stored. If it is lost, add --new-key.'] : []),
  ]
}

const databaseOf = (home: string | undefined) =>
  readCommandDatabase(readConnection(describeHome(parseHome(home)))?.databaseUrl)

function dns(option: string, text: string): string {
  if (!dnsLabel.test(text))
    throw new UsageError(
      `--${option} takes a name of Kubernetes: small letters, digits and -, at most 63; not "${text}".`,
    )
  return text
}

function named(option: string, text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 100) throw new UsageError(`--${option} takes a name of 1 to 100 characters.`)
  return name
}
