// A browser without a screen that goes through the pages of the provider of the tests: it follows redirects, keeps cookies, and
// sends each form with the values that it is given. A button is pressed whose name has a value, and ends the visit.
const maxPages = 20

/** @returns the last page, which has no form or follows a button. */
export async function visit(start: string, fields: Record<string, string>): Promise<{ url: string; text: string }> {
  const cookies = new Map<string, string>()
  let [url, body] = [start, null as URLSearchParams | null]
  let isPressed = false
  for (let page = 0; page < maxPages; page++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { method: body ? 'POST' : 'GET', body, headers: { cookie }, redirect: 'manual' })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    const text = await response.text()
    const location = response.headers.get('location')
    const form = location === null ? formOf(text) : null
    if (location === null && (!form || isPressed)) return { url, text }
    const buttons = form?.buttons.filter(([name]) => fields[name] !== undefined) ?? []
    isPressed ||= buttons.length > 0
    body =
      form &&
      new URLSearchParams(
        [...form.inputs, ...buttons].map(([name, value]) => [name, fields[name] ?? value] as [string, string]),
      )
    url = new URL(location ?? form?.action ?? '', url).href
  }
  throw new Error(`${start} leads to more than ${maxPages} pages`)
}

function formOf(page: string) {
  const [form, action] = /<form[^>]*action="([^"]+)"[\s\S]*?<\/form>/.exec(page) ?? []
  if (form === undefined) return null
  const named = ([element]: RegExpMatchArray) => {
    const of = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(element)?.[1] ?? ''
    return [of('name'), of('value')] as [string, string]
  }
  const inputs = [...form.matchAll(/<input[^>]*>/g)].map(named)
  // A button may stand outside of its form.
  return { action: action ?? '', inputs, buttons: [...page.matchAll(/<button[^>]*>/g)].map(named) }
}
