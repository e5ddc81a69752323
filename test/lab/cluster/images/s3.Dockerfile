# Stands in for versitygw's image.
FROM scratch
COPY versitygw /versitygw
ENTRYPOINT ["/versitygw"]
