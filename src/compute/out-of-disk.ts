const gibibyte = 1024 ** 3

/** @param what a sentence that says which limit was exceeded */
export const outOfDiskMessage = (what: string) =>
  `${what} An operator can raise \`diskGiB\` of the base model in the model catalogue; jobs submitted afterwards have more.`

export const wroteTooMuch = (limitBytes: number) => `The run wrote more than its ${limitBytes / gibibyte} GiB of disk.`
