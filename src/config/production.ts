// Imported first by the command line, before graphql is loaded: graphql reads NODE_ENV when it is imported, and elsewhere
// than in production checks every value it meets for a second copy of itself.

process.env.NODE_ENV ??= 'production'
