/** Purposes of files of the OpenAI API; the last one is written by batches. */
export const filePurposes = ['fine-tune', 'batch', 'batch_output'] as const
export type FilePurpose = (typeof filePurposes)[number]
