import { readFileSync } from 'node:fs'
import { readRoleGrants } from '../domain/roles.ts'
import type { SignInSettings } from '../services/sign-in.ts'
import { listed } from './environment.ts'
import type { ServiceEnvironment } from './service-environment.ts'
import type { z } from 'zod'

type Env = Pick<
  z.infer<typeof ServiceEnvironment>,
  Extract<keyof z.infer<typeof ServiceEnvironment>, `ANNEAL_OIDC_${string}`>
>

/** Null without an identity provider. @throws Error naming the variable that is missing or wrong */
export function readSignInConfig(env: Env): SignInSettings | null {
  const { ANNEAL_OIDC_ISSUER: issuer, ANNEAL_OIDC_CLIENT_ID: clientId, ANNEAL_OIDC_AUDIENCE: audience } = env
  if (issuer === undefined) {
    const others = ['CLIENT_ID', 'CLIENT_SECRET', 'CLI_CLIENT_ID', 'AUDIENCE', 'ROLES', 'ROLES_FILE'] as const
    const alone = others.find((name) => env[`ANNEAL_OIDC_${name}`] !== undefined)
    if (alone) throw new Error(`ANNEAL_OIDC_${alone} needs ANNEAL_OIDC_ISSUER.`)
    return null
  }
  if (clientId === undefined && env.ANNEAL_OIDC_CLIENT_SECRET !== undefined)
    throw new Error('ANNEAL_OIDC_CLIENT_SECRET needs ANNEAL_OIDC_CLIENT_ID.')
  // A client with a secret is no client for a program of people, who would have to know the secret.
  const isPublic = clientId !== undefined && env.ANNEAL_OIDC_CLIENT_SECRET === undefined
  const cliClientId = env.ANNEAL_OIDC_CLI_CLIENT_ID ?? (isPublic ? clientId : null)
  const clients = new Set([clientId ?? [], env.ANNEAL_OIDC_CLI_CLIENT_ID ?? []].flat())
  const audiences = audience === undefined ? [...clients] : listed(audience)
  if (audiences.length === 0)
    throw new Error('ANNEAL_OIDC_ISSUER needs ANNEAL_OIDC_CLIENT_ID, ANNEAL_OIDC_AUDIENCE or both.')
  const grants = readGrants(env)
  if (grants.length === 0)
    throw new Error('ANNEAL_OIDC_ISSUER needs ANNEAL_OIDC_ROLES or ANNEAL_OIDC_ROLES_FILE, or nobody may do anything.')
  return {
    ...{
      issuer: new URL(issuer),
      audiences,
      grants,
      groupsClaim: env.ANNEAL_OIDC_GROUPS_CLAIM,
      scopes: env.ANNEAL_OIDC_SCOPES,
    },
    ...{ clientId: clientId ?? null, clientSecret: env.ANNEAL_OIDC_CLIENT_SECRET, cliClientId },
  }
}

function readGrants({ ANNEAL_OIDC_ROLES: given, ANNEAL_OIDC_ROLES_FILE: file }: Env) {
  const parts = [
    ['ANNEAL_OIDC_ROLES', listed(given ?? '')],
    ['ANNEAL_OIDC_ROLES_FILE', file === undefined ? [] : readFileSync(file, 'utf8').split('\n')],
  ] as const
  return parts.flatMap(([name, lines]) => {
    try {
      return readRoleGrants(lines)
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}.`, { cause: error })
    }
  })
}
