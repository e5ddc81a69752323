# Stands in for temporalio/temporal: Temporal's command line, whose `server start-dev` is the development server.
FROM scratch
COPY temporal /temporal
ENTRYPOINT ["/temporal"]
