// Pins the sums of PyTorch without CUDA, as PyTorch's own index lists them:   npm run lock:torch-cpu
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runtimeDir } from './paths.mjs'
import { cpuIndex, cpuLock } from './setup/torch.mjs'

const version = /^torch==(\S+)/m.exec(readFileSync(join(runtimeDir, 'requirements.lock'), 'utf8'))?.[1]
const response = await fetch(`${cpuIndex}/torch/`)
if (!response.ok) throw new Error(`${cpuIndex}/torch/ answers ${response.status}`)
const links = (await response.text()).matchAll(/href="[^"]*\/?torch-([^"/]+?)\.whl#sha256=([0-9a-f]{64})"/g)
const sums = [...links]
  .filter(([, name]) => decodeURIComponent(name).startsWith(`${version}+cpu-`))
  .map(([, , sum]) => sum)
if (sums.length === 0) throw new Error(`${cpuIndex}/torch/ lists no torch ${version}+cpu with a sha256.`)
writeFileSync(
  cpuLock,
  [`torch==${version}+cpu`, ...sums.toSorted().map((sum) => `--hash=sha256:${sum}`)].join(' \\\n    ') + '\n',
)
console.log(`${cpuLock}: ${sums.length} sums of torch ${version}+cpu`)
