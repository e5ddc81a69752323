// Downloads versitygw from its project's release page. Not tried against the real pages (the machine this was written on
// reaches none); tried against a mirror, which ANNEAL_RELEASE_MIRROR names.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { duration, say, SetupError } from './report.mjs'

const host = process.env.ANNEAL_RELEASE_MIRROR ?? 'https://github.com'
const name = 'versitygw'
const os = { linux: 'Linux', darwin: 'Darwin' }[process.platform]
const arch = { x64: 'x86_64', arm64: 'arm64' }[process.arch]

/** sha256 by archive name. Empty until somebody with a network fills it: then the release's own list is what is believed. */
const pinnedSums = {}

/** Puts `target/versitygw` in place, or throws when the network does not reach the release. */
export async function fetchRelease(version, target) {
  if (!os || !arch) throw new Error(`no release for ${process.platform}-${process.arch}`)
  const file = `${name}_v${version}_${os}_${arch}.tar.gz`
  const base = `${host}/versity/versitygw/releases/download/v${version}`
  const sums = new TextDecoder().decode(await get(`${base}/checksums.txt`, 6_000))
  const listed = sums
    .split('\n')
    .find((line) => line.trim().endsWith(file))
    ?.trim()
    .split(/\s+/)[0]
  const expected = pinnedSums[file] ?? listed
  if (!expected) throw new Error(`checksums.txt does not name ${file}`)
  say('s3', `downloading ${file}`)
  const startedAt = performance.now()
  const bytes = await get(`${base}/${file}`, 300_000)
  if (createHash('sha256').update(bytes).digest('hex') !== expected) {
    throw new SetupError(`${base}/${file} is not the file that the release lists (sha256 ${expected}).`)
  }
  unpack(bytes, target)
  say('s3', `${name} ${version} downloaded and verified in ${duration(performance.now() - startedAt)}`)
}

async function get(url, timeoutMs) {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

function unpack(bytes, target) {
  const dir = mkdtempSync(join(target, 'archive-'))
  writeFileSync(join(dir, 'archive.tar.gz'), bytes)
  execFileSync('tar', ['-xzf', 'archive.tar.gz'], { cwd: dir })
  // Some archives wrap their files in a folder, some do not.
  const entry = readdirSync(dir, { withFileTypes: true, recursive: true }).find((e) => e.isFile() && e.name === name)
  if (!entry) throw new Error(`the archive holds no ${name}`)
  const path = join(entry.parentPath ?? entry.path, name)
  if (readFileSync(path).length === 0) throw new Error(`${name} in the archive is empty`)
  chmodSync(path, 0o755)
  renameSync(path, join(target, name))
  rmSync(dir, { recursive: true })
}
