// A browser without a screen that goes through the pages of the provider of the tests: it follows redirects, keeps cookies, and
// sends each form with the values that it is given.
const maxPages = 20

/** @returns the last page, which has no form. */
export async function visit(start: string, fields: Record<string, string>): Promise<{ url: string; text: string }> {
  const cookies = new Map<string, string>()
  let [url, body] = [start, null as URLSearchParams | null]
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
    if (location === null && !form) return { url, text }
    body =
      form && new URLSearchParams(form.inputs.map(([name, value]) => [name, fields[name] ?? value] as [string, string]))
    url = new URL(location ?? form?.action ?? '', url).href
  }
  throw new Error(`${start} leads to more than ${maxPages} pages`)
}

function formOf(page: string) {
  const [form, action] = /<form[^>]*action="([^"]+)"[\s\S]*?<\/form>/.exec(page) ?? []
  if (form === undefined) return null
  const inputs = [...form.matchAll(/<input[^>]*>/g)].map(([input]) => {
    const of = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? ''
    return [of('name'), of('value')] as [string, string]
  })
  return { action: action ?? '', inputs }
}
