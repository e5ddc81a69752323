import { defineConfig } from 'vite'

export default defineConfig({
  base: '/console/',
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
