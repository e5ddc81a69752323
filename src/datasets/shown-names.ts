// Names of a row's fields in a sentence, cut to a length that a sentence can hold.

const shownCharacters = 40
const shownNames = 10

export const shown = (name: string) =>
  (name.length > shownCharacters ? `${name.slice(0, shownCharacters)}…` : name).toWellFormed()

export const quoted = (name: string) => JSON.stringify(shown(name))

export function listed(names: readonly string[]): string {
  const first = names.slice(0, shownNames).map(quoted).join(', ')
  return names.length > shownNames ? `${first} and ${names.length - shownNames} more` : first
}
