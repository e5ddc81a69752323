/** Purposes of files of the OpenAI API; the last one is written by batches. */
export const filePurposes = ['fine-tune', 'batch', 'evals', 'batch_output'] as const
export type FilePurpose = (typeof filePurposes)[number]

/** Purposes that an upload may have. */
export const uploadPurposes = ['fine-tune', 'batch', 'evals'] as const satisfies FilePurpose[]
export type UploadPurpose = (typeof uploadPurposes)[number]
