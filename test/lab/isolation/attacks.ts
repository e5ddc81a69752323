// All attacks, in the order in which they run.
import type { Attack } from './attack.ts'
import { adapters } from './attacks/adapters.ts'
import { batches } from './attacks/batches.ts'
import { conversations } from './attacks/conversations.ts'
import { datasetChecks } from './attacks/dataset-checks.ts'
import { evalLists } from './attacks/eval-lists.ts'
import { fileDownloads } from './attacks/file-downloads.ts'
import { filledTexts } from './attacks/filled-texts.ts'
import { graderPatterns } from './attacks/grader-patterns.ts'
import { grammars } from './attacks/grammars.ts'
import { inferenceQueue } from './attacks/inference-queue.ts'
import { pythonGraders } from './attacks/python-graders.ts'
import { retrieval } from './attacks/retrieval.ts'
import { schemas } from './attacks/schemas.ts'
import { singlePrompts } from './attacks/single-prompts.ts'
import { singleRequests } from './attacks/single-requests.ts'
import { storedBytes } from './attacks/stored-bytes.ts'
import { templates } from './attacks/templates.ts'
import { tokenizing } from './attacks/tokenizing.ts'
import { unfinishedBodies } from './attacks/unfinished-bodies.ts'
import { uploadCompletes } from './attacks/upload-completes.ts'

export const attacks: readonly Attack[] = [
  inferenceQueue,
  unfinishedBodies,
  tokenizing,
  retrieval,
  batches,
  datasetChecks,
  conversations,
  adapters,
  grammars,
  pythonGraders,
  schemas,
  storedBytes,
  uploadCompletes,
  fileDownloads,
  singlePrompts,
  templates,
  filledTexts,
  graderPatterns,
  evalLists,
  singleRequests,
]

export function findAttack(name: string): Attack {
  const attack = attacks.find((each) => each.name === name)
  if (!attack)
    throw new Error(`There is no attack "${name}". Choose from: ${attacks.map((each) => each.name).join(', ')}.`)
  return attack
}
