// The data directory and the port.
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { lockOwner } from '../pid-lock.mjs'
import { existing } from './machine.mjs'

const postgresMajor = '16'

export function checkHome(home) {
  const name = 'data'
  const problem = (text, next) => ({ state: 'problem', name, text, next })
  try {
    accessSync(existing(home), constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return problem(`${home} cannot be written`, 'Make it writable, or choose another folder: --home DIR.')
  }
  if (!existsSync(home)) return { state: 'ok', name, text: `${home} is made at the first start` }
  if (!statSync(home).isDirectory())
    return problem(`${home} is not a folder`, 'Move it away, or choose another: --home DIR.')
  for (const file of ['secrets.json', 'ports.json', 'children.json']) {
    const broken = unreadableJson(join(home, file))
    if (broken) return problem(broken, 'Restore the file from a backup; without it the data cannot be opened.')
  }
  if (existsSync(join(home, 'postgres/PG_VERSION'))) {
    if (!existsSync(join(home, 'secrets.json')))
      return problem(`${home} has a database and no secrets.json`, 'Restore secrets.json from a backup.')
    const version = readFileSync(join(home, 'postgres/PG_VERSION'), 'utf8').trim()
    if (version !== postgresMajor)
      return problem(
        `the database in ${home} is of Postgres ${version}, not ${postgresMajor}`,
        'Choose another folder (--home DIR), or restore a backup of Postgres 16.',
      )
  }
  const owner = lockOwner(join(home, 'anneal.lock'))
  return { state: 'ok', name, text: owner ? `${home}; Anneal runs there (pid ${owner.pid})` : home }
}

export async function checkPort(port, home) {
  const name = 'port'
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    return { state: 'problem', name, text: `${port} is no port`, next: 'Choose one from 0 to 65535: --port N.' }
  const code = await listenError(port)
  if (code === null) return { state: 'ok', name, text: `${port || 'any'} is free on 127.0.0.1` }
  if (code === 'EADDRINUSE' && lockOwner(join(home, 'anneal.lock')))
    return { state: 'ok', name, text: `${port} is in use while Anneal runs` }
  const next = 'Choose another: npm start -- --port N (0: any free one).'
  return {
    state: 'problem',
    name,
    text: code === 'EADDRINUSE' ? `${port} is in use by another program` : `${port} cannot be used (${code})`,
    next,
  }
}

async function listenError(port) {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return null
  } catch (error) {
    return error.code
  } finally {
    server.close()
  }
}

function unreadableJson(path) {
  if (!existsSync(path)) return null
  try {
    JSON.parse(readFileSync(path, 'utf8'))
    return null
  } catch (error) {
    return error.code ? `${path} cannot be read (${error.code})` : `${path} is not valid JSON`
  }
}
