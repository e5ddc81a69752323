import { parseArgs } from 'node:util'
import type { Command } from './command.ts'
import { exitCodes } from './command-error.ts'
import { readProfiles, writeProfiles } from './remote/profiles.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

export const config: Command = {
  usage: `[list]
       anneal config use NAME
       anneal config remove NAME

  list    the profiles that anneal login made; * marks the current one. Keys are not shown
  use     later commands use this profile
  remove  forgets the profile and its key`,
  async run(args) {
    const [verb = 'list', name, ...more] = parseArgs({ args, allowPositionals: true }).positionals
    if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`)
    const { current, profiles } = readProfiles()
    if (verb === 'list') {
      const rows = Object.entries(profiles).map(([each, { url }]) => [each === current ? '*' : '', each, url])
      console.log(rows.length === 0 ? 'No profiles. anneal login makes one.' : table(['', 'PROFILE', 'URL'], rows))
      return exitCodes.done
    }
    if (verb !== 'use' && verb !== 'remove') throw new UsageError(`config takes list, use or remove, not "${verb}".`)
    if (name === undefined || !Object.hasOwn(profiles, name)) throw new UsageError('Name one of the profiles.')
    const { [name]: _removed, ...others } = profiles
    if (verb === 'use') writeProfiles({ current: name, profiles })
    else writeProfiles({ current: current === name ? null : current, profiles: others })
    return exitCodes.done
  },
}
