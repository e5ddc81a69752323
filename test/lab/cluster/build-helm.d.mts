export const helmPath: string
export function buildHelm(): Promise<string>
