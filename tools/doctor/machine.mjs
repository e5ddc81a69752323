// The machine: system, user, disk, memory, GPU.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { cacheDir, root } from '../paths.mjs'
import { firstLine } from '../setup/command.mjs'

const oldestGlibc = [2, 28]
const leastMemoryBytes = 4e9
const fewestFreeMemoryBytes = 2e9
/** The bytes that each step of set-up writes. */
const neededBytes = { node: 1.2e9, python: 6e9, s3: 1e9 }
const leastFreeBytes = 1e9

export function checkSystem() {
  const name = 'system'
  const text = `${process.platform} ${process.arch}`
  if (!['linux', 'darwin'].includes(process.platform) || !['x64', 'arm64'].includes(process.arch))
    return { state: 'problem', name, text, next: 'Use Linux on x86-64 or arm64 (on Windows: in WSL 2).' }
  if (process.platform !== 'linux') return { state: 'ok', name, text }
  const glibc = process.report.getReport().header.glibcVersionRuntime
  if (!glibc)
    return {
      state: 'problem',
      name,
      text: `${text} without glibc`,
      next: 'PyTorch has no packages for musl. Use a system with glibc, such as Debian.',
    }
  const [major = 0, minor = 0] = glibc.split('.').map(Number)
  const old = major < oldestGlibc[0] || (major === oldestGlibc[0] && minor < oldestGlibc[1])
  return old
    ? {
        state: 'problem',
        name,
        text: `glibc ${glibc} is too old`,
        next: `PyTorch needs glibc ${oldestGlibc.join('.')} or later: Debian 10, Ubuntu 20.04, RHEL 8 or later.`,
      }
    : { state: 'ok', name, text: `${text}, glibc ${glibc}` }
}

/** As src/embedded/database-user.ts does it. */
export function checkUser() {
  const name = 'user'
  if (process.getuid?.() !== 0) return { state: 'ok', name, text: 'not root' }
  const { status } = spawnSync('unshare', ['--user', '--map-user=1000', '--map-group=1000', 'true'])
  if (status === 0) return { state: 'ok', name, text: 'root; Postgres runs in a user namespace' }
  return {
    state: 'warning',
    name,
    text: 'root, and user namespaces are not allowed: Postgres has to run as the user nobody',
    next: 'Run as another user, or keep the clone and the cache (ANNEAL_CACHE_DIR) where every user may go.',
  }
}

export function checkDisk(missing, home) {
  const places = new Map()
  const need = (dir, bytes) => {
    const place = existing(dir)
    places.set(place, (places.get(place) ?? 0) + bytes)
  }
  need(home, leastFreeBytes)
  for (const step of missing) need(step === 'node' ? root : cacheDir, neededBytes[step])
  const writable = missing.some((step) => step !== 'node') ? [cacheFinding()].filter(Boolean) : []
  return [...writable, ...byDevice(places)]
}

function cacheFinding() {
  const place = existing(cacheDir)
  const problem = (text) => ({
    state: 'problem',
    name: 'cache',
    text,
    next: 'Set ANNEAL_CACHE_DIR to a folder that can be written.',
  })
  if (!statSync(place).isDirectory()) return problem(`${place} is not a folder`)
  try {
    accessSync(place, constants.W_OK | constants.X_OK)
    return null
  } catch {
    return problem(`${place} cannot be written`)
  }
}

/** Folders of one file system share its space. */
function byDevice(places) {
  const devices = new Map()
  for (const [place, bytes] of places) {
    const { bavail, bsize, blocks, type } = statfsSync(place)
    const key = `${type}-${blocks}-${bsize}-${bavail}`
    const before = devices.get(key) ?? { place, bytes: 0, free: bavail * bsize }
    devices.set(key, { ...before, bytes: before.bytes + bytes })
  }
  return [...devices.values()].map(({ place, bytes, free }) => {
    const text = `${gigabytes(free)} free in ${place}; about ${gigabytes(bytes)} are needed`
    return free >= bytes
      ? { state: 'ok', name: 'disk', text }
      : {
          state: 'problem',
          name: 'disk',
          text,
          next: 'Free some space, or move the clone or ANNEAL_CACHE_DIR to a larger disk.',
        }
  })
}

export function checkMemory() {
  const name = 'memory'
  const free = Number(/^MemAvailable:\s+(\d+)/m.exec(readOrEmpty('/proc/meminfo'))?.[1] ?? totalmem() / 1024) * 1024
  const text = `${gigabytes(totalmem())}, ${gigabytes(free)} of it free`
  if (totalmem() < leastMemoryBytes)
    return {
      state: 'warning',
      name,
      text,
      next: `The service and one training need ${gigabytes(leastMemoryBytes)}; a model server of its own may be killed.`,
    }
  if (free < fewestFreeMemoryBytes)
    return {
      state: 'warning',
      name,
      text,
      next: `The service and one training need ${gigabytes(fewestFreeMemoryBytes)} more: end other programs.`,
    }
  return { state: 'ok', name, text }
}

export function checkGpu() {
  const name = 'gpu'
  const gpus = firstLine('nvidia-smi', ['-L'])
  if (gpus)
    return {
      state: 'ok',
      name,
      text: gpus
        .split('\n')
        .map((line) => line.replace(/ \(UUID.*/, ''))
        .join(', '),
    }
  if (existsSync('/proc/driver/nvidia/version'))
    return {
      state: 'warning',
      name,
      text: 'there is an NVIDIA driver, and nvidia-smi does not answer',
      next: 'Run nvidia-smi to see why. Without it trainings use the CPU.',
    }
  return { state: 'ok', name, text: 'none; trainings use the CPU, which is enough for small models' }
}

/** The folder itself or its nearest parent that is there. */
export function existing(dir) {
  return existsSync(dir) || dir === dirname(dir) ? dir : existing(dirname(dir))
}

function gigabytes(bytes) {
  return `${(bytes / 1e9).toFixed(1)} GB`
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
