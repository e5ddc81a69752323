// Guesses which columns of a file hold prompts and answers, where the columns have names of their own. A person decides.
import type { Columns } from '../domain/dataset-report.ts'

/** Words of names, the surest first. */
const promptWords = [
  ...['question', 'prompt', 'query', 'q', 'input', 'instruction', 'request', 'problem', 'message', 'user', 'customer'],
  ...['client', 'human', 'ticket', 'source', 'subject', 'title', 'topic', 'term', 'text'],
  ...['frage', 'anfrage', 'eingabe', 'kunde', 'pregunta', 'consulta', 'entrada', 'demande', 'domanda'],
  ...['вопрос', '问题', '質問'],
]
const answerWords = [
  ...['answer', 'response', 'reply', 'completion', 'output', 'a', 'assistant', 'solution', 'agent', 'bot', 'target'],
  ...['result', 'label', 'category', 'summary', 'translation', 'description', 'definition', 'explanation'],
  ...['antwort', 'ausgabe', 'beschreibung', 'respuesta', 'salida', 'réponse', 'reponse', 'risposta'],
  ...['ответ', '回答', '答案'],
]
/** Columns with these words say when, where or who. */
const otherWords = new Set(['id', 'uuid', 'date', 'time', 'timestamp', 'url', 'link', 'email', 'index', 'nr', 'score'])

type Row = Record<string, unknown>

/** @returns null where nothing speaks for two columns, or for a single one */
export function proposeColumns(names: readonly string[], rows: readonly Row[]): Columns | null {
  const texts = names.filter((name) => !wordsOf(name).some((word) => otherWords.has(word)) && holdsText(name, rows))
  const output = firstWith(answerWords, texts)
  const input = firstWith(
    promptWords,
    texts.filter((name) => name !== output),
  )
  const [only, second, ...more] = texts.filter((name) => name !== input && name !== output)
  const isOnly = second === undefined
  if (output !== undefined) return input !== undefined || isOnly ? { input: input ?? only ?? null, output } : null
  if (input !== undefined) return only !== undefined && isOnly ? { input, output: only } : null
  if (only === undefined || more.length > 0) return null
  return isOnly ? { input: null, output: only } : { input: only, output: second }
}

const firstWith = (words: readonly string[], names: readonly string[]): string | undefined =>
  words.flatMap((word) => names.filter((name) => wordsOf(name).includes(word)))[0]

/** "customerQuestion", "customer_question" and "Customer question (EN)" hold "question". */
function wordsOf(name: string): string[] {
  const words = name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
  // A single letter among several words is an article.
  return words.length === 1 ? words : words.filter(({ length }) => length > 1)
}

const holdsText = (name: string, rows: readonly Row[]) =>
  rows.some((row) => typeof row[name] === 'string' && /\p{L}/u.test(row[name]))
