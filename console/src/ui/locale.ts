// In the locale C, Chromium calls its language en-US@posix. uPlot hands the language to Intl while it is loaded, and Intl
// refuses this one. Import this file before uPlot.
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' })
}
