export const root: string
export const nodeBinary: string
export const runtimeDir: string
export const cacheDir: string
export const compileCacheDir: string
export const invocationDir: string
export function toolPath(name: 'python' | 'pythonTools' | 'postgresBinDir' | 'temporal' | 'versitygw'): string
/** The results of set-up, by its steps. */
export function readRecord(): { graders?: { key: string; binary: string } }
export function digest(...parts: (string | Buffer)[]): string
