// `npm run console:pictures`: pictures of every page of the console, wide and narrow, in both themes, in docs/console.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { patienceMs } from '../../support/eventually.ts'
import { launch } from './launch.ts'
import {
  cancelJobs,
  draw,
  endJobs,
  openPicturedAccount,
  signedIn,
  signedOut,
  startJobs,
  viewsOfAccount,
  viewsOutside,
} from './pictured.ts'

const folder = join(root, 'docs/console')

suite('pictures of the console', { timeout: patienceMs }, () => {
  test('every page is drawn wide and narrow in both themes', async () => {
    mkdirSync(folder, { recursive: true })
    const api = await openPicturedAccount()
    const ended = await endJobs(api)
    const open = await startJobs(api)
    const browser = await launch()
    try {
      const context = await signedIn(browser, api)
      for (const view of viewsOfAccount(ended, open)) await draw(context, view, { folder })
      const outside = await signedOut(browser)
      for (const view of viewsOutside()) await draw(outside, view, { folder })
    } finally {
      await browser.close()
      await cancelJobs(api, open)
    }
  })
})
