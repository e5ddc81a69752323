// Services that the user has logged in to, in one private file.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { readJson, writePrivately } from '../../embedded/data-directory.ts'
import { CommandError } from '../command-error.ts'
import { clientConfig } from './client-config.ts'

type Profile = { url: string; apiKey: string }
type Profiles = { current: string | null; profiles: Record<string, Profile> }

export function readProfiles(): Profiles {
  const path = clientConfig().profilesPath
  try {
    return readJson<Profiles>(path) ?? { current: null, profiles: {} }
  } catch {
    throw new CommandError(`${path} cannot be read. Correct the file, or delete it and run anneal login again.`)
  }
}

export function writeProfiles(profiles: Profiles): void {
  const path = clientConfig().profilesPath
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writePrivately(path, profiles)
}

/** @param name the current one when absent; null when there is no current one */
export function findProfile(name: string | undefined): Profile | null {
  const { current, profiles } = readProfiles()
  const wanted = name ?? current
  if (wanted === null) return null
  const profile = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined
  if (!profile) throw new CommandError(`There is no profile "${wanted}". anneal config lists them.`)
  return profile
}
