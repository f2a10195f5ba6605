// Imported first by the command line, before graphql: graphql reads NODE_ENV on import and, except in production,
// checks every value for a second copy of the library.

process.env.NODE_ENV ??= 'production'
