// Light or dark: as the system says, until the user chooses. The style sheet knows only the resulting theme.
const storageKey = 'anneal-theme'
const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
systemIsDark.addEventListener('change', () => applyTheme())

export function chosenTheme(): Theme {
  const theme = localStorage.getItem(storageKey)
  return themes.find((each) => each === theme) ?? 'system'
}

export function applyTheme(theme: Theme = chosenTheme()) {
  localStorage.setItem(storageKey, theme)
  const system = systemIsDark.matches ? 'dark' : 'light'
  document.documentElement.dataset['theme'] = theme === 'system' ? system : theme
  // Curves are drawn on a canvas, which does not follow the style sheet by itself.
  window.dispatchEvent(new Event('themechange'))
}

export const nextTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system'
