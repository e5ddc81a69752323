// Which build of PyTorch is installed. PyPI has the CUDA build only; the one without CUDA, a quarter of the size, is on
// PyTorch's own index. It is taken by itself only with pinned sums, which `npm run lock:torch-cpu` writes on a machine that
// reaches the index. Tried against a stand-in for the index only.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../paths.mjs'
import { firstLine } from './command.mjs'

export const cpuLock = process.env.ANNEAL_TORCH_CPU_LOCK ?? join(root, 'tools/python/torch-cpu.txt')
export const cpuIndex = process.env.ANNEAL_TORCH_CPU_INDEX ?? 'https://download.pytorch.org/whl/cpu'
const ofCudaBuild = /^(torch|triton|nvidia-|cuda-)/
/** torch.compile needs it and nothing here calls that; it is 1 GB. A machine with a GPU gets it all the same. */
const ofCompiler = /^triton==/

/**
 * @typedef {object} Torch
 * @property {string} name
 * @property {string} space on disk
 * @property {RegExp} [leaveOut] packages of runtime/requirements.lock that are not installed
 * @property {number} [writes] about how many bytes the rest is
 * @property {string[]} [from] where PyTorch comes from when it is not in the rest
 * @property {string} [doing]
 * @property {string} [says] what the user is told before it is installed
 */

/** @returns {Promise<Torch>} */
export async function chooseTorch() {
  const wanted = process.env.ANNEAL_TORCH_BACKEND
  if (wanted && !(wanted === 'cpu' && existsSync(cpuLock))) return unpinned(wanted)
  if (wanted) return withoutCuda
  if (hasGpu()) return { name: 'cuda', space: '7 GB', writes: 6.3e9 }
  const reason = await whyNotWithoutCuda()
  if (!reason) return withoutCuda
  const says = `installing PyTorch with CUDA, 4 GB larger on disk than without, because ${reason}`
  return { name: 'cuda-without-compiler', space: '6 GB', leaveOut: ofCompiler, writes: 5.3e9, says }
}

const withoutCuda = {
  name: 'cpu',
  space: '2 GB',
  leaveOut: ofCudaBuild,
  from: ['--no-deps', '--index-url', cpuIndex, '--require-hashes', '-r', cpuLock],
  doing: 'installing PyTorch without CUDA',
}

/** Any backend that uv knows, such as cu128. */
function unpinned(backend) {
  const torch = /^torch==.*?(?=[ \\]|$)/m.exec(readFileSync(join(root, 'runtime/requirements.lock'), 'utf8'))?.[0]
  return {
    name: backend,
    space: backend === 'cpu' ? '2 GB' : '9 GB',
    leaveOut: ofCudaBuild,
    from: ['--torch-backend', backend, torch],
    doing: `installing ${torch} for ${backend}; its sum is not checked`,
  }
}

/** @returns {Promise<string | undefined>} undefined when nothing speaks against it */
async function whyNotWithoutCuda() {
  if (!existsSync(cpuLock)) return 'the sums of the build without CUDA are not pinned (npm run lock:torch-cpu)'
  try {
    const response = await fetch(`${cpuIndex}/torch/`, { method: 'HEAD', signal: AbortSignal.timeout(5_000) })
    return response.ok ? undefined : `${cpuIndex} answers ${response.status}`
  } catch {
    return `${cpuIndex} does not answer within five seconds`
  }
}

function hasGpu() {
  return existsSync('/proc/driver/nvidia/version') || firstLine('nvidia-smi', ['-L']) !== null
}

/** Writes the lock file without some packages. @returns the path */
export function filterLock(lock, leaveOut, path) {
  const entries = readFileSync(lock, 'utf8').split(/^(?=[a-z])/m)
  writeFileSync(path, entries.filter((entry) => !leaveOut?.test(entry)).join(''))
  return path
}
