# Stands in for the official Python image.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv tini ca-certificates && rm -rf /var/lib/apt/lists/*
CMD ["python3"]
