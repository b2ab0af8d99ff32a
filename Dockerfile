# The container image: `make image`, or docker build . by hand. The program is one static file, so the image holds it, the root
# certificates for targets with TLS, and nothing else: no shell, no package manager. It runs as an unprivileged user.
# There is no HEALTHCHECK: orchestrators ask /-/healthy and /-/ready themselves.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w \
      -X github.com/prometheus/common/version.Version=$VERSION \
      -X github.com/prometheus/common/version.Revision=$REVISION \
      -X github.com/prometheus/common/version.BuildDate=$DATE" \
    -o /out/aiperf-exporter ./cmd/aiperf-exporter && mkdir /out/tmp

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="aiperf-exporter" \
      org.opencontainers.image.description="Continuous load on LLM inference endpoints, measured for Prometheus" \
      org.opencontainers.image.source="https://github.com/aiperf-exporter/aiperf-exporter" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$DATE"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# `demo` writes its configuration where a user can read it.
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /out/aiperf-exporter /usr/bin/aiperf-exporter
COPY LICENSE /usr/share/doc/aiperf-exporter/LICENSE
USER 65532:65532
WORKDIR /etc/aiperf-exporter
EXPOSE 9749
ENTRYPOINT ["/usr/bin/aiperf-exporter"]
