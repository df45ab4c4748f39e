# The server, with its page and its built-in engine, and nothing else.
#
#   docker build --build-arg VERSION=v1.0.0 --build-arg COMMIT=$(git rev-parse HEAD) -t kiribashiri .
#
# docs/WATCHING.md says how to run it and how to add an engine of one's own.

FROM docker.io/library/golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# What /api/health and `server version` say. The build does not see the repository.
ARG VERSION=devel
ARG COMMIT=
# HTTP/2 is left out: it is spoken with TLS, which is the proxy's.
RUN CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -ldflags "-s -w -X main.built=${VERSION} -X main.commit=${COMMIT}" -o /out/server ./cmd/server

# Nothing is needed but the binary: it is static, reads no time zones, and calls nobody
# but the store of KIRI_BUCKETS, which with TLS needs certificates mounted. The built-in engine is found through /proc, which a
# container has.
FROM scratch
COPY --from=build /out/server /server
# What the authors of the parts want said wherever they go.
COPY LICENSE THIRD_PARTY_LICENSES /
USER 65532:65532

# A published port arrives at the container's own address, not at its loopback.
# Then the peer is the network's gateway and no longer loopback, so that every
# player is one client until that gateway stands in KIRI_PROXIES. It is not set
# here, because it differs, and because a wrong one lets callers name themselves.
# KIRI_ADMIN_ADDR stays at loopback: metrics and profiles are for the container's
# own network namespace.
ENV KIRI_ADDR=0.0.0.0:8787
EXPOSE 8787

# SIGTERM drains; give it 30 s, because the moves that are being played are waited for.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/server", "health"]
ENTRYPOINT ["/server"]
