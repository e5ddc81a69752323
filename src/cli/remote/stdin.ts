import { text } from 'node:stream/consumers'

/** `-` stands for what comes on standard input. */
export async function textsFrom(args: string[]): Promise<string[]> {
  if (!args.includes('-')) return args
  const input = await text(process.stdin)
  return args.map((each) => (each === '-' ? input : each))
}
