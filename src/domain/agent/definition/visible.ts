// Reads the chat providers of the server for the API, without their URLs and keys.

import type { NamedProvider } from '../../../providers/ports/chat-providers.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

export type { NamedProvider }
export { MAX_PROVIDERS } from '../../../providers/chat-registry.ts'

/** Returns the chat providers that runs may name, ordered by name. All tenants have the same providers. */
export function getProviders({ providers }: Pick<Platform, 'providers'>, viewer: Viewer): readonly NamedProvider[] {
  authorize(viewer, 'getProviders')
  return providers.list()
}
