// The start of the web app.

import './styles/main.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Boundary } from './workspace/boundary.tsx'

createRoot(document.querySelector('#root')!).render(
  <Boundary>
    <App />
  </Boundary>,
)
