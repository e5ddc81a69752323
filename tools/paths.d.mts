export const root: string
export const nodeBinary: string
export const runtimeDir: string
export const cacheDir: string
export const invocationDir: string
export interface ToolPaths {
  python: string
  postgresBinDir: string
  temporal: string
  versitygw: string
}
export function toolPaths(): ToolPaths
export function digest(...parts: (string | Buffer)[]): string
