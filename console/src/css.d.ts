declare module '*.css'
declare module '*?url' {
  const address: string
  export default address
}

/** Vite replaces it: true under `npm run dev`. */
interface ImportMeta {
  readonly env: { readonly DEV: boolean }
}
