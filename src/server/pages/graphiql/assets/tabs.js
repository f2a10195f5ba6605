// Restores the tabs of GraphiQL when the page is loaded. GraphiQL stores its tabs in the local storage, but it selects a
// tab only if it is told the contents of that tab. Otherwise it adds a tab.

/** Key under which GraphiQL stores `{ activeTabIndex, tabs }`, up to 500 ms after a change. */
const TABS = 'graphiql:tabState'
const STORE_MS = 500
/** Maximum length of an address with a query. The server refuses a request whose head is longer than 16 KB. */
const MAX_ADDRESS = 4_000

/** The tabs as GraphiQL reported them last, if it may not have stored them yet; otherwise null. */
let unstored = null

/** Stores the tabs as GraphiQL does: without responses, and without headers if the user disabled that in its settings. */
function storeTabs(state) {
  const left = ['hash', 'response']
  if (localStorage.getItem('graphiql:shouldPersistHeaders') === 'false') left.push('headers')
  try {
    localStorage.setItem(
      TABS,
      JSON.stringify(state, (key, value) => (left.includes(key) ? null : value)),
    )
  } catch (error) {
    console.warn('The browser does not store the tabs:', error)
  }
}

/** Returns the stored tabs; null on the first visit, or if something else is stored. */
function storedTabs() {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem(TABS))
    return tabs[activeTabIndex] ? { tabs, activeTabIndex } : null
  } catch {
    return null
  }
}

/** Returns a tab as GraphiQL stores it. */
const createTab = ({ query, variables = '', headers }) => ({
  id: String(Math.random()),
  title: /^(?:query|mutation|subscription)\s+(\w+)/m.exec(query)?.[1] ?? '<untitled>',
  query,
  variables,
  headers,
  operationName: null,
  response: null,
})

const hasSameContents = (one, other) =>
  ['query', 'variables', 'headers'].every((name) => (one[name] ?? '') === (other[name] ?? ''))

/**
 * Returns the options by which GraphiQL shows the stored tabs, or `examples` on the first visit. Selects the tab with the
 * query of the address, and adds it if there is none; a reload leaves the selection as it is.
 */
function restoreTabs(examples, headers) {
  const state = storedTabs() ?? { activeTabIndex: 0, tabs: examples.map(createTab) }
  const isReload = performance.getEntriesByType('navigation')[0]?.type === 'reload'
  const linked = isReload ? null : new URL(location.href).searchParams.get('query')
  if (linked && linked !== state.tabs[state.activeTabIndex].query) {
    const found = state.tabs.findIndex(({ query }) => query === linked)
    state.activeTabIndex = found >= 0 ? found : state.tabs.push(createTab({ query: linked, headers })) - 1
  }
  const selected = state.tabs[state.activeTabIndex]
  selected.headers ??= headers
  // GraphiQL selects the last tab with the contents that it is told.
  for (const tab of state.tabs) if (tab !== selected && hasSameContents(tab, selected)) tab.headers += '\n'
  storeTabs(state)
  return {
    defaultTabs: state.tabs,
    query: selected.query ?? '',
    variables: selected.variables ?? '',
    initialHeaders: selected.headers,
  }
}

/** Remembers the tabs that GraphiQL reports, until it has stored them. */
function rememberTabs(state) {
  unstored = state
  setTimeout(() => {
    if (unstored === state) unstored = null
  }, STORE_MS)
}

/** Makes the address of the page a link to the query. If it would be too long, removes the query from the address. */
function showInAddress(query) {
  const url = new URL(location.href)
  url.searchParams.set('query', query)
  if (query === '' || url.href.length > MAX_ADDRESS) url.searchParams.delete('query')
  history.replaceState(null, '', url)
}

addEventListener('pagehide', () => unstored && storeTabs(unstored))

// For browser.js.
Object.assign(globalThis, { restoreTabs, rememberTabs, showInAddress })
