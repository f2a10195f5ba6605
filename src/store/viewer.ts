// The viewer that every read takes. Declared here because the store and the domain both use it.

/** The actor in whose view a read is made. Determined by the transport and passed to every domain function. */
export type Viewer = { tenant: string; actor: string }
