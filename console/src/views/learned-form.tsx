// What a model will learn from the rows of a data set, and how to ask it afterwards.
import { useQuery } from '@tanstack/react-query'
import type { Report } from '../api/data.ts'
import { modelsQuery } from '../api/models.ts'

type Form = NonNullable<Report['form']>

const texts: Record<Form, string> = {
  conversations: 'The model learns the answers of conversations. Ask it as a chat.',
  pairs:
    'The model learns to write the output after the input, as a plain prompt. Ask it with prompts that are written as the inputs are.',
  texts: 'The model learns whole texts. Ask it with the beginning of a text.',
}

export function LearnedForm({ form, modelId }: { form: Form | null; modelId: string }) {
  const model = useQuery(modelsQuery).data?.find(({ id }) => id === modelId)
  if (form === null) return null
  const isChat = model !== undefined && 'has_chat_template' in model && model.has_chat_template === true
  return (
    <p className="notice">
      {texts[form]}
      {isChat && form !== 'conversations' && ' To teach this chat model to chat, upload conversations instead.'}
    </p>
  )
}
