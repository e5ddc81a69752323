// The closing lines of set-up. A failure gets one message that says what to do.

/** Its message is for the person at the terminal and is printed without a stack. */
export class SetupError extends Error {}

export function duration(ms) {
  const seconds = Math.round(ms / 1000)
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

export function diskFull(dir, needed) {
  return new SetupError(`The disk is full. Set-up needs about ${needed} in ${dir}; free some space and run it again.`)
}
