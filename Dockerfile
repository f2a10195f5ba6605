# The image of the server. The first stage builds and packs the package; the second installs the packed package.
# Without DATABASE_URL, the data is in /data (embedded database, one process).
FROM node:24.11.1-bookworm-slim AS build

WORKDIR /source
COPY package.json package-lock.json prisma.config.ts tsconfig.json tsconfig.build.json schema.graphql ./
COPY packages ./packages
COPY prisma ./prisma
COPY scripts ./scripts
COPY src ./src
RUN npm ci --no-audit --no-fund && mkdir /package && npm pack --pack-destination /package

FROM node:24.11.1-bookworm-slim

ENV HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /app

COPY --from=build /package /package
RUN npm install --omit=dev --no-audit --no-fund /package/*.tgz && npm cache clean --force && rm -r /package

# Docker gives an empty volume mounted at /keys (for FIRST_KEY_FILE) or /files (for FILES_DIR) the owner and the mode of this
# directory.
RUN mkdir /data /keys /files && chown node:node /data /keys /files && chmod 700 /keys /files
VOLUME /data
USER node
EXPOSE 4000

HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# HOST is not a loopback address, so the container must set AUTH_MODE, as docker-compose.yml does. The command has no
# shell, so that Node receives SIGTERM and drains. src/bin.ts explains the flag.
CMD ["node", "--max-semi-space-size=64", "node_modules/colloquy/dist/bin.js"]
