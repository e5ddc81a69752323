# What holds a pod's namespaces.
FROM scratch
COPY pause /pause
ENTRYPOINT ["/pause"]
