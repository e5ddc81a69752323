// Services that the user has logged in to, in one private file.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readJson, writePrivately } from '../../embedded/data-directory.ts'
import { releaseLock, takeLock } from '../../../tools/pid-lock.mjs'
import { CommandError } from '../command-error.ts'
import { clientConfig } from './client-config.ts'
import type { Provider, Tokens } from './identity-provider.ts'

/** Somebody who signed in with the identity provider of the service. `account`: the one chosen among several. */
export type SignedIn = Provider & Tokens & { account: string | null }
export type Profile = { url: string } & ({ apiKey: string } | { signedIn: SignedIn })
export type Profiles = { current: string | null; profiles: Record<string, Profile> }

/** A request of another command to the identity provider ends before. */
const lockTimeoutMs = 30_000
const lockPauseMs = 50

export function readProfiles(): Profiles {
  const path = clientConfig().profilesPath
  try {
    const known = readJson<Profiles>(path) ?? { current: null, profiles: {} }
    for (const profile of Object.values(known.profiles)) requireProfile(profile)
    return known
  } catch {
    throw new CommandError(`${path} cannot be read. Correct the file, or delete it and run anneal login again.`)
  }
}

/** Somebody may have written the file by hand. */
function requireProfile(profile: Profile) {
  const texts = [profile.url, 'signedIn' in profile ? profile.signedIn.token : profile.apiKey]
  if (!texts.every((text) => typeof text === 'string')) throw new TypeError('this is no profile')
}

/** One command at a time reads and writes, so that none undoes the change of another. @returns what `change` returns beside */
export async function changeProfiles<T>(
  change: (known: Profiles) => Promise<[Profiles, T]> | [Profiles, T],
): Promise<T> {
  const path = clientConfig().profilesPath
  const lock = `${path}.lock`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (const deadline = performance.now() + lockTimeoutMs; takeLock(lock) !== null; await sleep(lockPauseMs))
    if (performance.now() > deadline)
      throw new CommandError(`Another command holds ${lock}. Wait for its end, then try again.`)
  try {
    const known = readProfiles()
    const [changed, result] = await change(known)
    if (changed !== known) writePrivately(path, changed)
    return result
  } finally {
    releaseLock(lock)
  }
}

/** Makes it the current one. */
export const keepProfile = (name: string, profile: Profile) =>
  changeProfiles(({ profiles }) => [{ current: name, profiles: { ...profiles, [name]: profile } }, undefined])

/** @returns what was known of it. @throws CommandError if there is none */
export const forgetProfile = (wanted: string | undefined) =>
  changeProfiles((known) => {
    const { name, profile } = named(known, wanted) ?? noCurrent()
    const { [name]: _removed, ...profiles } = known.profiles
    const current = known.current === name ? null : known.current
    return [
      { current, profiles },
      { name, profile },
    ]
  })

/** @param name the current one when absent; null when there is no current one */
export const findProfile = (name: string | undefined) => named(readProfiles(), name)

function named({ current, profiles }: Profiles, wanted: string | undefined) {
  const name = wanted ?? current
  if (name === null) return null
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) throw new CommandError(`There is no profile "${name}". anneal config lists them.`)
  return { name, profile }
}

function noCurrent(): never {
  throw new CommandError('You are not logged in. anneal config lists the profiles.')
}
