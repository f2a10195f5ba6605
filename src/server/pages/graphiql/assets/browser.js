// Starts GraphiQL in the browser, with the tabs of tabs.js and the token of token.js. Sends queries and mutations by
// fetch. Each subscription has its own WebSocket, whose connectionParams are the headers of its tab. A subscription
// runs until it is stopped, even while another tab is selected; the panel "Live" lists its events.

const { tabs, defaultHeaders, workers, base } = JSON.parse(document.querySelector('#options').textContent)
// Monaco reads this when graphiql.js is loaded.
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_, label) => base + workers[label] }

/** Maximum number of events in the panel for each subscription, and of characters of each event. */
const MAX_ROWS = 200
const MAX_CHARACTERS = 2_000
/** Time between the loss of a connection and the next attempt, ms. */
const RETRY_MS = 500

/** The streams in the panel, by operation and headers. A subscription that is run again replaces its stream. */
const streams = new Map()
/** The stream whose events GraphiQL shows, and the stream from which GraphiQL has just unsubscribed; null for none. */
let shown = null
let left = null
/** Id of the selected tab; null before GraphiQL has reported it. */
let selected = null
/** Id of the streaming turn that this page opened last. It replaces an empty variable `turnId`. */
let openedTurn = null

const element = (name, text = '', className = '') =>
  Object.assign(document.createElement(name), { textContent: text, className })

/** Close code of a WebSocket whose token is refused or no longer valid. */
const FORBIDDEN = 4403

function operationOf({ operationName }, documentAST) {
  const operations = (documentAST?.definitions ?? []).filter(({ kind }) => kind === 'OperationDefinition')
  return operations.find(({ name }) => name?.value === operationName) ?? operations[0]
}

async function send(params, headers) {
  const { variables } = params
  const filled = variables?.turnId === '' ? { ...variables, turnId: openedTurn } : variables
  const response = await fetchWithToken('/graphql', {
    method: 'POST',
    headers: {
      accept: 'application/graphql-response+json, application/json',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ ...params, variables: filled }),
    // GraphiQL reads the schema when the page is loaded, and again when the headers change.
    isAutomatic: params.operationName === 'IntrospectionQuery',
  })
  const result = await response.json()
  openedTurn = result.data?.openTurn?.turn?.id ?? openedTurn
  return result
}

/** Adds a stream to the panel. Returns functions that set its state, add an event to its list, and remove it. */
function addToPanel(title, onButton) {
  const panel = document.querySelector('#live')
  const root = element('article')
  const header = element('header')
  const state = element('span', 'connecting', 'state')
  const button = element('button', 'Stop')
  const events = element('ol')
  events.tabIndex = 0
  button.type = 'button'
  button.onclick = onButton
  header.append(element('strong', title), state, button)
  root.append(header, events)
  panel.append(root)
  panel.hidden = false
  return {
    setState(text, isOver = false) {
      state.textContent = text
      if (isOver) button.textContent = 'Remove'
    },
    add(value) {
      const text = JSON.stringify(value)
      const row = element('li', text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text)
      events.append(row)
      if (events.childElementCount > MAX_ROWS) events.firstElementChild.remove()
      events.scrollTop = events.scrollHeight
    },
    remove() {
      root.remove()
      panel.hidden = panel.querySelector('article') === null
    },
  }
}

/** Returns the variables with a getter for `afterSeq`, so that the client resumes after a lost connection. */
function resumable(variables, lastSeq) {
  if (!Object.hasOwn(variables ?? {}, 'afterSeq')) return variables
  const { afterSeq } = variables
  return Object.defineProperty({ ...variables }, 'afterSeq', { enumerable: true, get: () => lastSeq() ?? afterSeq })
}

/** Runs a subscription in the panel. `observer`, GraphiQL, also receives the results until the stream is detached. */
function startStream(title, params, headers, observer) {
  const key = JSON.stringify([params, headers])
  streams.get(key)?.remove()
  let last = null
  let isOver = false
  let hasFailed = false
  let client = null
  let unsubscribe = () => {}
  /** The server's reason to refuse the token of the last connection; null if it was accepted. */
  let refusal = null
  const end = (state) => {
    if (isOver) return
    isOver = true
    panel.setState(state, true)
    observer?.complete()
    unsubscribe()
    void client.dispose()
  }
  const remove = () => {
    end('stopped')
    streams.delete(key)
    panel.remove()
  }
  const stream = {
    detach() {
      const former = observer
      observer = null
      former?.complete()
    },
    stop: () => end('stopped'),
    remove,
  }
  const panel = addToPanel(title, () => (isOver ? remove() : end('stopped')))
  streams.set(key, stream)
  client = graphqlWs.createClient({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: () => withToken(headers),
    retryAttempts: Infinity,
    shouldRetry: (error) =>
      !(error instanceof CloseEvent) || error.code < 4400 || (error.code === FORBIDDEN && !hasOwnToken(headers)),
    async retryWait() {
      if (refusal !== null && !(await askForToken(refusal))) return end('failed')
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    },
    on: {
      connected: () => panel.setState('live'),
      closed({ code, reason }) {
        refusal = code === FORBIDDEN ? reason : null
        if (!isOver) panel.setState('connecting')
      },
    },
  })
  const next = (result) => {
    const [event] = Object.values(result.data ?? {})
    last = event?.seq ?? event?.resumeAfterSeq ?? last
    hasFailed = !event && result.errors !== undefined
    panel.add(event ?? result)
    observer?.next(result)
  }
  const error = (reason) => {
    const message = reason instanceof CloseEvent ? `Closed with ${reason.code}: ${reason.reason}` : reason.message
    next({ errors: Array.isArray(reason) ? reason : [{ message }] })
    end('failed')
  }
  const complete = () => end(hasFailed ? 'failed' : 'completed')
  const variables = resumable(params.variables, () => last)
  unsubscribe = client.subscribe({ ...params, variables }, { next, error, complete })
  return stream
}

const subscribe = (operation, params, headers) => ({
  subscribe(observer) {
    const actor = sessionStorage.getItem(TOKEN) === null ? (headers['x-actor'] ?? 'anonymous') : 'the token'
    const title = `${operation.name?.value ?? 'Subscription'} as ${actor}`
    const stream = startStream(title, params, headers, observer)
    shown = stream
    return {
      unsubscribe() {
        shown = null
        left = stream
        // GraphiQL reports a change of tabs before this microtask runs. `onTabChange` then detaches the stream instead.
        queueMicrotask(() => {
          if (left === stream) stream.stop()
          left = null
        })
      },
    }
  },
})

function fetcher(params, { headers = {}, documentAST } = {}) {
  const operation = operationOf(params, documentAST)
  return operation?.operation === 'subscription' ? subscribe(operation, params, headers) : send(params, headers)
}

/** Detaches the stream of a tab that is no longer selected. GraphiQL also reports changes within the tab. */
function onTabChange(state) {
  rememberTabs(state)
  const { id } = state.tabs[state.activeTabIndex]
  const isOther = selected !== null && selected !== id
  selected = id
  const stream = left ?? (isOther ? shown : null)
  left = null
  if (!stream) return
  shown = null
  // Deferred, because GraphiQL is still changing its state.
  queueMicrotask(() => stream.detach())
}

addEventListener('DOMContentLoaded', () => {
  const options = { title: 'Colloquy', fetcher, onTabChange, onEditQuery: showInAddress, headers: defaultHeaders }
  const restored = restoreTabs(tabs, defaultHeaders)
  YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), { ...options, ...restored })
})
