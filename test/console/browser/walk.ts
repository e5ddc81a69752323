// Presses every button of a page, to learn which requests the service refuses.
import type { Page, Request } from 'playwright-core'
import { eventually } from '../../support/eventually.ts'

/** Notes the requests that get 401 from now on. */
export function walkOf(page: Page) {
  const refused: string[] = []
  const pending = new Set<Request>()
  page.on('request', (request) => pending.add(request))
  page.on('requestfailed', (request) => pending.delete(request))
  page.on('response', (response) => {
    const request = response.request()
    pending.delete(request)
    if (response.status() === 401)
      refused.push(`${request.method()} ${new URL(response.url()).pathname} on ${new URL(page.url()).pathname}`)
  })

  /** A view has a heading, and is loaded in parts: none of them may stand for the shape of what comes. */
  const settled = () =>
    eventually(async () => {
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
      if (pending.size > 0 || (await page.locator('main .state[role=status]').count()) > 0) return false
      return (await page.locator('main h1').count()) > 0
    }, `every part of ${page.url()}`)

  async function open(address: string) {
    await page.goto(address)
    await settled()
  }

  /** Also presses what acts in the dialog that a button opens. */
  async function pressAll(address: string): Promise<void> {
    const buttons = page.locator('main button:enabled:visible')
    await open(address)
    for (let index = 0; ; index++) {
      if (page.url() !== address) await open(address)
      const button = (await buttons.elementHandles())[index]
      if (!button) return
      // Unlike a click it waits for nothing that may lie above the button.
      await button.dispatchEvent('click')
      await settled()
      const acting = (await page.locator('dialog[open] button:enabled').elementHandles()).at(-1)
      if (!acting) continue
      await acting.dispatchEvent('click')
      await settled()
      await open(address)
    }
  }
  return { refused, pressAll }
}
