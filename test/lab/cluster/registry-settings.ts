// The package registries of this machine, mounted for the RUN steps only, so that the images do not contain them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const aptSettings = '/etc/apt/apt.conf.d'

/** @param scratch a folder that lives as long as the build */
export function registrySettings(scratch: string): string[] {
  const apt = existsSync(aptSettings) ? readdirSync(aptSettings).map((name) => join(aptSettings, name)) : []
  const acquiring = apt.filter((path) => /^\s*Acquire::/m.test(readFileSync(path, 'utf8')) && !path.includes('docker'))
  const files = ['/etc/pip.conf', '/etc/ssl/certs/ca-certificates.crt', ...acquiring].filter(existsSync)
  const npm = join(scratch, 'npmrc')
  // npm looks for the machine's file below its own prefix, which is /usr/local in the images. Both files go there.
  const npmFiles = ['/etc/npmrc', join(homedir(), '.npmrc')].filter(existsSync)
  writeFileSync(npm, npmFiles.map((path) => readFileSync(path, 'utf8')).join('\n'))
  return [...files.map((path) => [path, path]), [npm, '/usr/local/etc/npmrc']].flatMap(([from, to]) => [
    '--volume',
    `${from}:${to}:ro`,
  ])
}
