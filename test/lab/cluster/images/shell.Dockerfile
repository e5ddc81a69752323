# A shell with the usual programs: all that most tests of the cluster itself need. Its wget cannot look up names.
FROM scratch
COPY busybox /bin/busybox
COPY passwd /etc/passwd
RUN ["/bin/busybox", "--install", "-s", "/bin"]
CMD ["sh"]
