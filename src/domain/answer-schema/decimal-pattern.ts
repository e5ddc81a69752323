// The patterns that pydantic 2.8 to 2.13 writes for a Decimal have lookaheads, which no automaton reads. Each is rewritten to
// one of the same numbers without them.

const start = String.raw`^(?!^[-+.]*$)[+-]?0*`

const endings = {
  any: /^\\d\*\\\.\?\\d\*\$$/,
  places: /^\\d\*\\\.\?\\d\{0,(\d{1,3})\}0\*\$$/,
  digits: /^\(\?:\\d\{0,(\d{1,3})\}\|\(\?=\[\\d\.\]\{1,\d{1,4}\}0\*\$\)\\d\*\\\.\\d\*0\*\$\)$/,
  both: /^\(\?:\\d\{0,(\d{1,3})\}\|\(\?=\[\\d\.\]\{1,(\d{1,4})\}0\*\$\)\\d\{0,\d{1,3}\}\\\.\\d\{0,(\d{1,3})\}0\*\$\)$/,
}

/**
 * With `max_digits`, pydantic forgot the end of a number without a point, so that any text may follow it. The rewritten
 * pattern does not allow that.
 * @returns any other pattern as it is
 */
export function withoutLookahead(pattern: string): string {
  if (!pattern.startsWith(start)) return pattern
  const ending = pattern.slice(start.length)
  if (endings.any.test(ending)) return numberOf([String.raw`\d+(?:\.\d*)?`, String.raw`\.\d+`])
  const places = endings.places.exec(ending)
  if (places) return numberOf([String.raw`\d+(?:${fraction(Number(places[1]))})?`, someFraction(Number(places[1]))])
  const digits = endings.digits.exec(ending)
  if (digits) return numberOf(ofDigits(Number(digits[1])))
  const both = endings.both.exec(ending)
  if (!both) return pattern
  const [whole = 0, most = 0, after = 0] = both.slice(1).map(Number)
  // The lookahead counts the point, too.
  const shown = Math.min(after, most - 1)
  return numberOf([`${someWhole(whole)}(?:${fraction(shown)})?`, someFraction(shown)])
}

const numberOf = (forms: readonly string[]) => `^[+-]?(?:${forms.join('|')})$`

/** A point with at most so many digits, and zeros. */
const fraction = (places: number) => String.raw`\.\d{0,${places}}0*`
/** The same with at least one digit. */
const someFraction = (places: number) => (places > 0 ? String.raw`\.\d{1,${places}}0*` : String.raw`\.0+`)
const someWhole = (digits: number) => (digits > 0 ? String.raw`0*\d{1,${digits}}` : '0+')

/** At most so many digits before and after the point together. */
const ofDigits = (most: number): string[] => [
  someWhole(most),
  String.raw`0+${fraction(most)}`,
  someFraction(most),
  ...Array.from({ length: most }, (_, at) => String.raw`0*\d{${at + 1}}${fraction(most - at - 1)}`),
]
