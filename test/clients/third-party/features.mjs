// What a client can do with the service. Each feature is one line of JSON on stdout: its name, and null or what went wrong.
export const model = process.env['BASE_MODEL']
export const baseURL = process.env['OPENAI_BASE_URL']
export const apiKey = process.env['OPENAI_API_KEY']
export const embedder = 'all-MiniLM-L6-v2'
export const question = 'Which product is made in Norway?'

const write = process.stdout.write.bind(process.stdout)
// Some clients print to stdout.
console.log = console.error

export async function feature(name, work) {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (failure) => String(failure?.stack ?? failure).slice(0, 2000),
    )
  write(`${JSON.stringify({ check: name, error, refused: null })}\n`)
}
