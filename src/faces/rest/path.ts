// The path of the REST API. Separate, because the server needs it before it loads the API.

export const API = '/api/v1'

/** Whether a request with that path is for the REST API. */
export const isRest = (path: string): boolean => path === API || path.startsWith(`${API}/`)
