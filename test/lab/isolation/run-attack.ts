// One attack from its preparation to its result: the victim's probes alone, then under attack, with the same program.
import { loadavg } from 'node:os'
import { startAttack, type AttackProcess } from './attack-process.ts'
import type { Attack, AttackRecord, Probe, Stage } from './attack.ts'
import { measureProbe, ratioOf, type Measurement } from './measure-probe.ts'
import { watchProcesses, type ProcessorShares, type ProcessReport } from './process-memory.ts'
import { measureShare } from './processor-share.ts'

export type ProbeResult = { name: string; alone: Measurement; underAttack: Measurement; ratio: number }
export type AttackResult = {
  attack: string
  probes: ProbeResult[]
  attacker: AttackRecord
  memory: ProcessReport[]
  /** Each share is of one processor; `probes` is this program. */
  processors: { alone: ProcessorShares; underAttack: ProcessorShares }
  /** Names of processes, once for each restart. */
  restarts: string[]
  /** Of the machine's last minute, when the attack ended. */
  load: number
  /** What the attack itself and its check found wrong. */
  findings: string[]
}

/** Slow probes are asked less often than they want to be. */
const aloneSeconds = 40

export async function runAttack(attack: Attack, stage: Stage): Promise<AttackResult> {
  const prepared = (await attack.prepare?.(stage)) ?? {}
  const probes = attack.probes(stage, prepared)
  await warmUp(probes)
  // From here on, because the look at the processes takes its share of the machine as well.
  const processes = watchProcesses(stage.homeDir)
  const measure = () => {
    const [probesShare, shares] = [measureShare(), processes.measureShares()]
    return () => ({ ...shares(), probes: probesShare() })
  }
  const sharesAlone = measure()
  const alone = await measureAlone(probes, stage)
  const processorsAlone = sharesAlone()
  const running = startAttack(attack, stage, prepared)
  await running.underway
  const sharesUnderAttack = measure()
  const underAttack = await measureUnderAttack(probes, stage, running)
  const processorsUnderAttack = sharesUnderAttack()
  running.stop()
  const attacker = await running.ended
  const findings = [...attacker.findings, ...((await attack.check?.(stage, attacker)) ?? [])]
  const results = probes.map(({ name }, index) => compare(name, alone[index], underAttack[index]))
  const processors = {
    alone: processorsAlone,
    underAttack: { ...processorsUnderAttack, attacker: attacker.processorShare },
  }
  const load = loadavg()[0] ?? 0
  return { attack: attack.name, probes: results, attacker, ...processes.end(), processors, load, findings }
}

/** The first answers of a stack pay for its caches. */
async function warmUp(probes: Probe[]) {
  for (const probe of probes) {
    const { refused } = await measureProbe(probe, (count) => count < probe.count / 50)
    if (Object.keys(refused).length > 0)
      throw new Error(`Before the attack, "${probe.name}" was answered ${JSON.stringify(refused)}.`)
  }
}

/** One probe after the other would see a machine that is less busy than the one under attack: all run at once. */
function measureAlone(probes: Probe[], { size }: Stage): Promise<Measurement[]> {
  const deadline = performance.now() + aloneSeconds * 1000
  const wanted = ({ count }: Probe) => (size === 'short' ? 1 : count)
  return Promise.all(
    probes.map((probe) => measureProbe(probe, (count) => count < wanted(probe) && performance.now() < deadline)),
  )
}

function measureUnderAttack(probes: Probe[], { size }: Stage, running: AttackProcess): Promise<Measurement[]> {
  const goesOn = (probe: Probe, count: number) => (size === 'short' ? count < shortCountOf(probe) : !running.isOver())
  return Promise.all(probes.map((probe) => measureProbe(probe, (count) => goesOn(probe, count))))
}

/** A short attack lasts until each probe was asked this often. */
const shortCountOf = ({ count }: Probe) => Math.max(2, count / 40)

function compare(name: string, alone?: Measurement, underAttack?: Measurement): ProbeResult {
  if (!alone || !underAttack) throw new Error(`The probe "${name}" was not measured.`)
  return { name, alone, underAttack, ratio: ratioOf(alone, underAttack) }
}
