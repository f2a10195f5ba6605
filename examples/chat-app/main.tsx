// Starts the app for Ada. In production, pass `token` instead of `actor`.
import { connect } from 'colloquy-client'
import { ColloquyProvider } from 'colloquy-client/react'
import { createRoot } from 'react-dom/client'
import { App } from './App.tsx'

const client = connect({ url: '/graphql', actor: 'ada' })
createRoot(document.getElementById('root')!).render(
  <ColloquyProvider client={client}>
    <App />
  </ColloquyProvider>,
)
