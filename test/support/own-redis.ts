// Set-up of each test file: TEST_REDIS_URL names a Redis database that no other worker uses. Test files use the same
// tenants and actors, whose connections and presence are stored in Redis under their names.

const { TEST_REDIS_URL, VITEST_POOL_ID } = process.env

// Database 0 belongs to what else runs on this Redis. Workers are numbered from 1, and are fewer than its 16 databases.
if (TEST_REDIS_URL) {
  process.env.TEST_REDIS_URL = Object.assign(new URL(TEST_REDIS_URL), { pathname: `/${VITEST_POOL_ID}` }).href
}
