// The options of commands that ask prompts, which may ask them as chats.
import { UsageError } from '../usage-error.ts'

export const chatOptions = {
  chat: { says: "asks each prompt as a chat, by the model's own template" },
  system: { value: 'TEXT', says: 'with --chat, the system message; by default the one that the model learned' },
} as const

type Given = { chat: boolean | undefined; system: string | undefined }

/** The fields of the request. @throws UsageError */
export function chatFields({ chat, system }: Given) {
  if (system !== undefined && !chat) throw new UsageError('--system needs --chat.')
  return { as_chat: chat, system }
}
