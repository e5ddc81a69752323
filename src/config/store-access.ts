// Where the keys of the object store come from: from S3_ACCESS_KEY, or from the variables that Amazon's SDKs read.
import { z } from 'zod'
import type { StoreAccess } from '../storage/store-clients.ts'
import { parse } from './environment.ts'

/** An empty value counts as none: a Secret may keep a name without a value. */
const Text = z
  .string()
  .optional()
  .transform((text) => text || undefined)

const StoreAccessEnvironment = z.object({
  S3_ACCESS_KEY: Text,
  S3_SECRET_KEY: Text,
  /** `instance` asks the metadata service of the machine, which no variable announces. */
  S3_CREDENTIALS: z.enum(['instance']).optional(),
  /** How long the credentials of a web identity are to live. The STS has a default, and the role a limit. */
  S3_SESSION_SECONDS: z.coerce.number().int().min(900).max(43_200).optional(),
  S3_REGION: z.string().default('us-east-1'),
  AWS_ACCESS_KEY_ID: Text,
  AWS_SECRET_ACCESS_KEY: Text,
  AWS_SESSION_TOKEN: Text,
  AWS_WEB_IDENTITY_TOKEN_FILE: Text,
  AWS_ROLE_ARN: Text,
  AWS_ROLE_SESSION_NAME: z.string().min(1).default('anneal'),
  AWS_REGION: Text,
  AWS_ENDPOINT_URL_STS: z.url().optional(),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: z.url().optional(),
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: Text,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: Text,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: Text,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: z.url().default('http://169.254.169.254'),
})

/** Keys of S3_... come first, then the order is that of Amazon's SDKs. @throws Error that says what to set */
export function readStoreAccess(environment: NodeJS.ProcessEnv = process.env): StoreAccess {
  const env = parse(StoreAccessEnvironment, environment)
  const keys = pair(env, 'S3_ACCESS_KEY', 'S3_SECRET_KEY')
  if (keys) return keys
  const ambient = pair(env, 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY')
  if (ambient) return { ...ambient, sessionToken: env.AWS_SESSION_TOKEN }
  const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile } = env
  if (tokenFile !== undefined)
    return {
      credentials: {
        kind: 'web-identity',
        tokenFile,
        stsUrl: env.AWS_ENDPOINT_URL_STS ?? amazonSts(env.AWS_REGION ?? env.S3_REGION),
        roleArn: env.AWS_ROLE_ARN,
        sessionName: env.AWS_ROLE_SESSION_NAME,
        seconds: env.S3_SESSION_SECONDS,
      },
    }
  const url = containerUrl(env)
  if (url !== undefined) {
    const token = env.AWS_CONTAINER_AUTHORIZATION_TOKEN
    const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
    return { credentials: { kind: 'container', url, token, tokenFile: file } }
  }
  if (env.S3_CREDENTIALS === 'instance')
    return { credentials: { kind: 'instance', url: env.AWS_EC2_METADATA_SERVICE_ENDPOINT } }
  throw invalid(
    'the object store needs S3_ACCESS_KEY and S3_SECRET_KEY, a web identity (AWS_WEB_IDENTITY_TOKEN_FILE), ' +
      'credentials of a container (AWS_CONTAINER_CREDENTIALS_FULL_URI), or S3_CREDENTIALS=instance.',
  )
}

type Environment = z.infer<typeof StoreAccessEnvironment>

/** Half a pair would be a mistake that the next source hides. */
function pair(env: Environment, key: 'S3_ACCESS_KEY' | 'AWS_ACCESS_KEY_ID', secret: keyof Environment) {
  const accessKey = env[key]
  const secretKey = env[secret] as string | undefined
  if (accessKey !== undefined && secretKey !== undefined) return { accessKey, secretKey }
  if (accessKey === undefined && secretKey === undefined) return null
  throw invalid(`set both ${key} and ${secret}, or neither.`)
}

function containerUrl({
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: full,
}: Environment) {
  return relative === undefined ? full : new URL(relative, 'http://169.254.170.2').href
}

const amazonSts = (region: string) => `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`

const invalid = (message: string) => new Error(`The environment is not valid: ${message}`)
