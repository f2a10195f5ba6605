// Sets NODE_ENV to production unless it is set. The command line imports this file first, because graphql reads
// NODE_ENV on import and, except in production, checks every value for a second copy of the library.

process.env.NODE_ENV ??= 'production'
