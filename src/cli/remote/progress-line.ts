// Shows progress: on a terminal one line that is overwritten, elsewhere a line per state and per report of the trainer.

export type TrainingStep = { step: number; loss: number; iter_time: number; remaining_time: number }

/** `wait`: why the job does not go on, or what it does. `ahead`: jobs that get a slot before this one, if any. */
export type ShownState = { status: string; wait: string | null; ahead: number | null }

const barWidth = 30

export function createProgressLine() {
  const startedAt = performance.now()
  let status = ''
  let shown = ''
  return { show, end }

  function show({ status: newStatus, wait, ahead }: ShownState, history: TrainingStep[]) {
    if (newStatus !== status) {
      end()
      status = newStatus
      console.log(`${seconds(performance.now() - startedAt)}  ${status}`)
    }
    const latest = history.at(-1)
    if (latest && status === 'TRAINING MODEL') print(describeStep(latest))
    else if (wait !== null) print(`         ${wait}${ahead ? ` ${ahead} ahead.` : ''}`)
  }

  function print(text: string) {
    if (text === shown) return
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${text}`)
    else console.log(text)
    shown = text
  }

  /** Ends the line and leaves it in place. */
  function end() {
    if (shown !== '' && process.stdout.isTTY) process.stdout.write('\n')
    shown = ''
  }
}

/** The total number of steps is computed from the remaining time. */
function describeStep({ step, loss, iter_time, remaining_time }: TrainingStep): string {
  const totalSteps = step + (iter_time > 0 ? remaining_time / iter_time : 0)
  const filled = Math.round(Math.min(step / totalSteps, 1) * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  // The first step is slower than the others.
  const left = step > 1 ? `  ${Math.round(remaining_time)} s left` : ''
  return `         ${bar} step ${step}  loss ${loss.toFixed(3)}${left}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`
}
