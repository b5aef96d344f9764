# understudy alone: a static binary that runs as nobody and records into /data. `make images` prepares its context (a directory with the
# binary and an empty directory data) and builds it:
#
#   docker run --rm -v "$PWD:/data" understudy:local check run-000001.pcapng.zst
FROM scratch
COPY understudy /usr/bin/understudy
COPY --chown=65534:65534 data/ /data/
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["/usr/bin/understudy"]
