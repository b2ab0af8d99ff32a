# The container images: `make image`, or by hand
#
#   docker build .                  static, the default: one static file and the root certificates. No shell, no libc, no package manager
#   docker build --target nvml .    on glibc, to load the NVIDIA driver's library and read GPUs by it: the container runtime brings the library
#
# Both are built for amd64 and arm64 (--platform) without emulation, since nothing is run in the images themselves. The same source, arguments and
# base images give the same files, with the same dates: those of SOURCE_DATE_EPOCH.
ARG GO=golang:1.26.8-bookworm
ARG BASE=debian:bookworm-20260824-slim

FROM --platform=$BUILDPLATFORM $GO AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
ENV LDFLAGS="-s -w -X github.com/prometheus/common/version.Version=$VERSION \
      -X github.com/prometheus/common/version.Revision=$REVISION -X github.com/prometheus/common/version.BuildDate=$DATE"
# What both images hold beside the program. Budgets keep their state below /var/lib, `demo` writes its configuration to /tmp.
RUN install -D -m 644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt && \
    install -D -m 644 LICENSE /image/usr/share/doc/aiperf-exporter/LICENSE && \
    install -d -m 755 /image/etc/aiperf-exporter && \
    install -d -m 750 -o 65532 -g 65532 /image/var/lib/aiperf-exporter && \
    install -d -m 1777 /image/tmp

FROM source AS source-static
ARG TARGETARCH
ARG SOURCE_DATE_EPOCH=0
RUN CGO_ENABLED=0 GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags k8s_sd -ldflags "$LDFLAGS" \
      -o /image/usr/bin/aiperf-exporter ./cmd/aiperf-exporter && \
    find /image -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM source AS source-nvml
ARG BUILDARCH
ARG TARGETARCH
ARG SOURCE_DATE_EPOCH=0
# Functions of the driver are looked up when they are called: the program also starts where it is not.
RUN case $TARGETARCH in amd64) machine=x86-64 ;; arm64) machine=aarch64 ;; *) echo "no image for $TARGETARCH" >&2; exit 1 ;; esac && \
    if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
      apt-get update -qq && apt-get install -qq --no-install-recommends "gcc-$machine-linux-gnu" "libc6-dev-$TARGETARCH-cross" && \
      export CC="$(echo "$machine" | tr - _)-linux-gnu-gcc"; \
    fi && \
    CGO_ENABLED=1 GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags k8s_sd -ldflags "$LDFLAGS -extldflags=-Wl,-z,lazy" \
      -o /image/usr/bin/aiperf-exporter ./cmd/aiperf-exporter && \
    find /image -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# The platform goes without saying, but for the buildah and podman of Debian 12, which take that of the stage before.
FROM --platform=$TARGETPLATFORM $BASE AS nvml
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="aiperf-exporter" \
      org.opencontainers.image.description="Continuous load on LLM inference endpoints, measured for Prometheus; with NVML" \
      org.opencontainers.image.source="https://github.com/aiperf-exporter/aiperf-exporter" \
      org.opencontainers.image.documentation="https://github.com/aiperf-exporter/aiperf-exporter/blob/main/docs/images.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$DATE"
# To the NVIDIA container runtime: every GPU, and of the driver no more than its management library.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=utility
COPY --from=source-nvml /image/ /
USER 65532:65532
WORKDIR /etc/aiperf-exporter
EXPOSE 9749
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/bin/aiperf-exporter", "check", "health"]
ENTRYPOINT ["/usr/bin/aiperf-exporter"]

FROM scratch AS static
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="aiperf-exporter" \
      org.opencontainers.image.description="Continuous load on LLM inference endpoints, measured for Prometheus" \
      org.opencontainers.image.source="https://github.com/aiperf-exporter/aiperf-exporter" \
      org.opencontainers.image.documentation="https://github.com/aiperf-exporter/aiperf-exporter/blob/main/docs/images.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$DATE"
COPY --from=source-static /image/ /
USER 65532:65532
WORKDIR /etc/aiperf-exporter
EXPOSE 9749
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/bin/aiperf-exporter", "check", "health"]
ENTRYPOINT ["/usr/bin/aiperf-exporter"]
