# The server as an image. It needs no build: TypeScript runs as it is, and `npm ci` generates the Prisma client.
# Without DATABASE_URL it keeps its data in /data (embedded, one process).
FROM node:24-slim

ENV HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /app

COPY package.json package-lock.json prisma.config.ts .production.env ./
COPY prisma ./prisma
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

COPY src ./src

RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 4000

HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Nobody authenticates yet, so an address other than loopback wants ALLOW_UNAUTHENTICATED=1: say it where you publish
# the port, as docker-compose.yml does. Node gets SIGTERM itself, and drains.
CMD ["node", "--env-file=.production.env", "--max-semi-space-size=64", "--import", "tsx", "src/main.ts"]
