const gibibyte = 1024 ** 3

/** @param what the run has exceeded, a sentence; by default its own limit */
export const outOfDiskMessage = (what: string) =>
  `${what} An operator can raise \`diskGiB\` of the base model in the model catalogue; then submit the job again.`

export const wroteTooMuch = (limitBytes: number) => `The run wrote more than its ${limitBytes / gibibyte} GiB of disk.`
