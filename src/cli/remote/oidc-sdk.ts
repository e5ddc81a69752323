// The package of OpenID Connect. tools/pack-cli.mjs puts this file into the package of the command line together with all that it
// imports. It is loaded only to sign somebody in, or to renew a token.
export {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  initiateDeviceAuthorization,
  pollDeviceAuthorizationGrant,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  tokenRevocation,
} from 'openid-client'
