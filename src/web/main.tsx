// The start of the web app.

import './styles/main.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'

createRoot(document.querySelector('#root')!).render(<App />)
