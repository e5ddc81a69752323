/** The line that asks a grader's process for the score of one sample. */
export const gradingRequest = (sample: unknown, item: unknown): string => JSON.stringify({ sample, item })
