// Says whether `npm start` can work on this machine, and for each thing that stands in its way what to do next. Changes
// nothing, works before any set-up, and imports nothing but Node:   npm run doctor [-- --home DIR --port N]
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkHome, checkPort } from './doctor/home.mjs'
import { checkDisk, checkGpu, checkMemory, checkSystem, checkUser } from './doctor/machine.mjs'
import { checkRegistries } from './doctor/network.mjs'
import { checkCompiler, checkNode, checkNpm, checkPython } from './doctor/programs.mjs'
import { missingSteps } from './doctor/steps.mjs'
import { invocationDir, root } from './paths.mjs'

const usage = `npm run doctor [-- --home DIR --port N]
  --home DIR   the data directory that npm start would use (default: .anneal in the repository)
  --port N     the port of the API (default: 8080; 0 checks none)

Exit code: 0 npm start can work here, 1 something stands in its way, 2 wrong arguments.`

const options = {
  home: { type: 'string' },
  port: { type: 'string', default: '8080' },
  help: { type: 'boolean' },
}

const marks = { ok: 'ok  ', warning: 'note', problem: 'FAIL' }

process.exitCode = await main()

async function main() {
  let values
  try {
    ;({ values } = parseArgs({ options }))
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`)
    return 2
  }
  if (values.help) {
    console.log(usage)
    return 0
  }
  const home = values.home === undefined ? join(root, '.anneal') : resolve(invocationDir, values.home)
  const missing = missingSteps()
  const findings = [
    checkSystem(),
    checkUser(),
    checkNode(missing),
    ...(missing.includes('node') ? [checkNpm()] : []),
    ...(missing.includes('python') ? [checkPython()] : []),
    ...(missing.includes('s3') ? [checkCompiler()] : []),
    ...checkDisk(missing, home),
    checkMemory(),
    checkGpu(),
    checkHome(home),
    await checkPort(Number(values.port), home),
    ...(await checkRegistries(missing)),
    setUpState(missing),
  ]
  for (const { state, name, text, next } of findings) {
    console.log(`${marks[state]}  ${name.padEnd(9)} ${text}`)
    if (next) console.log(`                → ${next}`)
  }
  const problems = findings.filter(({ state }) => state === 'problem').length
  console.log(problems === 0 ? '\nnpm start can work here.' : `\nnpm start cannot work here yet: ${problems} to mend.`)
  return problems === 0 ? 0 : 1
}

function setUpState(missing) {
  if (missing.length === 0) return { state: 'ok', name: 'set-up', text: 'done' }
  return { state: 'ok', name: 'set-up', text: `to do: ${missing.join(', ')}; npm start does it first` }
}
