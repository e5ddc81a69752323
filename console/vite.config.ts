import { defineConfig, type Plugin } from 'vite'

export default defineConfig({
  base: '/console/',
  plugins: [smallerCurves()],
  build: {
    target: 'es2023',
    // The policy of the service allows no script inside a page, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The pages of users, and the page of operators on the admin port.
    rolldownOptions: { input: ['index.html', 'operator.html'] },
    reportCompressedSize: false,
    license: { fileName: 'licenses.txt' },
  },
  // `npm run dev` here, beside a service that runs on port 8080.
  server: {
    proxy: { '^/(v1|openai|openapi.json)': { target: 'http://127.0.0.1:8080', headers: { host: '127.0.0.1:8080' } } },
  },
})

/**
 * Leaves the parts of uPlot out of the bundle that no page uses: axes of dates, bars, stairs, splines and the joining of
 * tables. Nothing else names them once these lines are gone. Fails when a new version of uPlot has other lines.
 */
function smallerCurves(): Plugin {
  const unused = [
    /^const \[ timeIncrs.*$/gm,
    /^\tconst _time(AxisSplits|AxisVals|SeriesVal) .*$/gm,
    /^\t+let isTime = .*$/gm,
    /^\tuPlot\.(join|fmtDate|tzDate) +=.*$/gm,
    /^\t\(paths\.(stepped|bars|spline) +=.*$/gm,
  ]
  return {
    name: 'smaller-curves',
    transform: {
      filter: { id: /uPlot\.esm\.js$/ },
      handler(code) {
        for (const lines of unused) {
          if (!lines.test(code)) this.error(`uPlot has no line like ${lines.source}`)
          code = code.replaceAll(lines, '')
        }
        return code.replaceAll(/\bisTime\b/g, 'false')
      },
    },
  }
}
