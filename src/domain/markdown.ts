// Puts users' texts into Markdown, and into the YAML before it, as what they are.

/** A text within a line or a cell of a table: nothing in it is markup. */
export const inline = (text: string) =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_{}[\]<>#|~&!$]/g, (mark) => `\\${mark}`)

/** A block of code. No line of the code may begin with three backticks. */
export const fenced = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``

/** Characters that JSON leaves as they are, but that YAML does not allow in a file. */
// oxlint-disable-next-line no-control-regex
const unprintable = /[\u007f-\u0084\u0086-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

/** A quoted scalar. YAML reads what JSON writes. */
export const yaml = (text: string) =>
  JSON.stringify(text.toWellFormed()).replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
