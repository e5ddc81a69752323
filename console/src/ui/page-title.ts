// The name of the page in the tab of the browser. While something runs, the tab also shows how far it is.
import { useEffect } from 'react'

const radius = 12
const round = 2 * Math.PI * radius

/** @param share from 0 to 1 while something runs on this page */
export function usePageTitle(title: string, share: number | null = null) {
  const percent = share === null ? null : Math.floor(100 * Math.max(0, Math.min(1, share)))
  useEffect(() => {
    document.title = `${percent === null ? '' : `${percent}% · `}${title} · Anneal`
  }, [title, percent])
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
    if (!icon || percent === null) return
    const whole = icon.href
    icon.href = ring(percent)
    return () => {
      icon.href = whole
    }
  }, [percent])
}

function ring(percent: number): string {
  const circle = (stroke: string, more = '') =>
    `<circle cx="16" cy="16" r="${radius}" fill="none" stroke="${stroke}" stroke-width="7" ${more}/>`
  const drawn = (round * percent) / 100
  const part = circle('#ffb454', `stroke-dasharray="${drawn} ${round}" transform="rotate(-90 16 16)"`)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${circle('#16324f')}${part}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
