// Passes /graphql on to the server. In a project of your own, `colloquy-client` is installed, and `alias` is not needed.
const source = (path) => new URL(`../../src/${path}/index.ts`, import.meta.url).pathname

export default {
  resolve: {
    alias: [
      { find: 'colloquy-client/ai-sdk', replacement: source('ai-sdk') },
      { find: 'colloquy-client', replacement: source('client') },
    ],
  },
  build: { target: 'es2022' },
  server: { proxy: { '/graphql': { target: process.env.COLLOQUY ?? 'http://127.0.0.1:4000', ws: true } } },
}
