// A real identity provider, as a company has one: the package oidc-provider over loopback, with its own pages. Whoever signs in
// with a name is a member of the groups that the test has given the name.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const clientId = 'anneal'
export const cliClientId = 'anneal-cli'

type Options = {
  /** The addresses of the console that signs in. */
  site: string
  groups: Record<string, string[]>
  /** Seconds that a token of identity is valid. */
  idTokenSeconds?: number
  /** Providers differ in it. */
  groupsAre?: 'at userinfo' | 'in the token'
}

const grantTypes = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']

export async function startProvider({ site, groups, idTokenSeconds = 3600, groupsAre = 'at userinfo' }: Options) {
  const sockets = createServer().listen(0, '127.0.0.1')
  await once(sockets, 'listening')
  const url = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`
  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: 'none',
        application_type: 'web',
        redirect_uris: [`${site}/v1/console/callback`],
        post_logout_redirect_uris: [`${site}/console/`],
        response_types: ['code'],
        grant_types: grantTypes,
      },
      {
        client_id: cliClientId,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        response_types: ['code'],
        grant_types: grantTypes,
      },
    ],
    scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        ...{ sub: id, name: `${id} of the tests`, email: `${id}@example.com`, email_verified: true },
        groups: groups[id] ?? [],
      }),
    }),
    features: {
      deviceFlow: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      revocation: { enabled: true },
    },
    conformIdTokenClaims: groupsAre === 'at userinfo',
    ttl: { IdToken: idTokenSeconds, AccessToken: 3600, Interaction: 600, Session: 86_400, Grant: 86_400 },
    cookies: { keys: ['only of the tests'] },
  })
  const serve = provider.callback()
  sockets.on('request', (request, response) => void serve(request, response))
  return {
    url,
    stop: () =>
      new Promise<void>((resolve) => {
        sockets.closeAllConnections()
        sockets.close(() => resolve())
      }),
  }
}
