// Asks the user for a token if the server requires one, and sends it with the requests of the page.

/** Key of the token in the session storage, which the browser deletes when the tab is closed. */
const TOKEN = 'colloquy-token'
const REQUIRED = 'This server requires an API key or a token.'
const HINT = 'Kept until this browser tab is closed.'

/** Whether the headers of a GraphiQL tab contain a token of their own, which the entered token does not replace. */
const hasOwnToken = (headers) => Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')

/** Returns the headers with the token, if the user entered one, and without the names that the token determines. */
function withToken(headers) {
  const token = sessionStorage.getItem(TOKEN)
  if (token === null || hasOwnToken(headers)) return headers
  const kept = Object.entries(headers).filter(([name]) => !/^x-(actor|tenant)$/i.test(name))
  return { ...Object.fromEntries(kept), authorization: `Bearer ${token}` }
}

/** Returns the form of the dialog. `refusal` is why the server refused the last token; null if there was none. */
function createForm(refusal, onCancel) {
  const form = element('form')
  const label = element('label', 'API key or token')
  const input = Object.assign(element('input'), { type: 'password', autocomplete: 'off', required: true })
  // Headers contain ASCII characters only: fetch rejects a token with others, such as typographic quotes.
  Object.assign(input, { spellcheck: false, autofocus: true, pattern: '\\s*[!-~]+\\s*' })
  input.title = 'ASCII characters without spaces'
  const hint = element('small', HINT)
  const cancel = Object.assign(element('button', 'Cancel'), { type: 'button', onclick: onCancel })
  const buttons = element('footer')
  Object.assign(label, { htmlFor: 'token-input' })
  Object.assign(input, { id: 'token-input' })
  Object.assign(hint, { id: 'token-hint' })
  input.setAttribute('aria-invalid', String(refusal !== null))
  input.setAttribute('aria-describedby', 'token-reason token-hint')
  buttons.append(cancel, element('button', 'Use token'))
  form.append(label, input, hint, buttons)
  return { form, input }
}

/** The promise of the open dialog, or null. Requests that are refused meanwhile wait for the same dialog. */
let asking = null
/** Whether the user closed the last dialog without a token. */
let isDeclined = false

/** Asks for a token. Resolves with whether the user entered one: Escape and Cancel close the dialog without. */
function askForToken(reason) {
  asking ??= new Promise((resolve) => {
    const dialog = element('dialog', '', 'graphiql-container')
    const refusal = sessionStorage.getItem(TOKEN) === null ? null : reason
    const { form, input } = createForm(refusal, () => dialog.close())
    form.onsubmit = (event) => {
      event.preventDefault()
      sessionStorage.setItem(TOKEN, input.value.trim())
      dialog.close('entered')
    }
    dialog.onclose = () => {
      dialog.remove()
      asking = null
      isDeclined = dialog.returnValue !== 'entered'
      resolve(!isDeclined)
    }
    const title = Object.assign(element('h2', 'Authenticate'), { id: 'token-title' })
    const text = element('p', refusal ?? REQUIRED, refusal === null ? '' : 'error')
    text.id = 'token-reason'
    if (refusal !== null) text.role = 'alert'
    dialog.id = 'token'
    dialog.setAttribute('aria-labelledby', title.id)
    dialog.append(title, text, form)
    document.body.append(dialog)
    dialog.showModal()
  })
  return asking
}

/**
 * Sends the request with the token. While the server refuses the token, asks for another, until the user cancels. For a
 * request that the user did not start, asks only if the user has not cancelled before.
 */
async function fetchWithToken(url, { headers, isAutomatic, ...options }) {
  for (;;) {
    const response = await fetch(url, { ...options, headers: withToken(headers) })
    if (response.status !== 401 || hasOwnToken(headers)) return response
    if (isAutomatic && isDeclined) return response
    const { errors } = await response.clone().json()
    if (!(await askForToken(errors[0].message))) return response
  }
}

// For browser.js.
Object.assign(globalThis, { fetchWithToken })
