// A disk of our own for the data directory: one that can be filled without filling the machine's.
import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import type { Home } from '../../../src/embedded/data-directory.ts'

const sizeBytes = 8 * 2 ** 30

/** False if mounting is not allowed. */
export function mountDisk(dir: string, bytes = sizeBytes): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=711`, 'tmpfs', dir], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const unmountDisk = (dir: string) => execFileSync('umount', ['--lazy', dir])

/** Shrinks the disk to its content, so that one of the next pages finds no room. */
export function fillDisk({ dir }: Home) {
  for (let spareBlocks = 0; ; spareBlocks = spareBlocks * 2 + 1) {
    const { blocks, bfree, bsize } = statfsSync(dir)
    try {
      return resize(dir, (blocks - bfree + spareBlocks) * bsize)
    } catch (error) {
      // The disk cannot become smaller than its content at that time.
      if (spareBlocks > bfree) throw error
    }
  }
}

export const freeDisk = ({ dir }: Home) => resize(dir, sizeBytes)

const resize = (dir: string, bytes: number) =>
  execFileSync('mount', ['-o', `remount,size=${bytes}`, dir], { stdio: 'pipe' })
