import { defineVerb, type Command } from './command.ts'
import { exitCodes } from './command-error.ts'
import { changeProfiles, forgetProfile, readProfiles } from './remote/profiles.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

async function list(): Promise<number> {
  const { current, profiles } = readProfiles()
  const rows = Object.entries(profiles).map(([each, { url }]) => [each === current ? '*' : '', each, url])
  console.log(rows.length === 0 ? 'No profiles. anneal login makes one.' : table(['', 'PROFILE', 'URL'], rows))
  return exitCodes.done
}

export const command: Command = {
  '': defineVerb({ run: list }),
  list: defineVerb({
    says: 'the profiles that anneal login made; * marks the current one. Keys are not shown',
    run: list,
  }),
  use: defineVerb({
    says: 'later commands use this profile',
    takes: { NAME: '' },
    run: ([name = '']) =>
      changeProfiles(({ profiles }) => {
        if (!Object.hasOwn(profiles, name)) throw new UsageError('Name one of the profiles.')
        return [{ current: name, profiles }, undefined]
      }),
  }),
  remove: defineVerb({
    says: 'forgets the profile and its key',
    takes: { NAME: '' },
    async run([name = '']) {
      if (!Object.hasOwn(readProfiles().profiles, name)) throw new UsageError('Name one of the profiles.')
      await forgetProfile(name)
    },
  }),
}
