# One image for all three programs. It has nothing else but empty directories for data and keys: no shell, no root.
#
#   docker build --tag queens --build-arg QUEENS_COMMIT=$(git rev-parse --short=12 HEAD) .
#                                                 compiles in a Rust image, or
#   cargo static                                  compiles here, for
#   docker build --tag queens --target ready .    which pulls nothing
#
#   docker run --rm queens count 16
#
# Docker's older builder builds all stages above the requested one. So stages that pull come last, and those above need
# nothing.

# 10001 is no user in particular. A volume gets the owner of its mount point. Without chown in the image, only COPY can
# set that owner.
FROM scratch AS data
WORKDIR /image/data
WORKDIR /image/keys

FROM scratch AS base
COPY --from=data --chown=10001:10001 /image/ /
USER 10001:10001
ENTRYPOINT ["/queens"]

# The pattern matches nothing if `cargo static` has not run. The image is then useless, but builds: the older builder
# needs that on its way to `compiled`.
FROM base AS ready
ARG QUEENS_TARGET=x86_64-unknown-linux-gnu
COPY LICENSE-* target/${QUEENS_TARGET}/release/queens* /

# The version of rust-toolchain.toml. That file stays outside: rustup would add tools that only developers need.
FROM rust:1.95.0-slim-bookworm AS compiler
WORKDIR /queens
COPY . .
# The commit in version numbers; the repository itself stays outside.
ARG QUEENS_COMMIT
ARG QUEENS_COMMIT_DATE
RUN cargo static

FROM base AS compiled
COPY --from=compiler \
    /queens/LICENSE-APACHE \
    /queens/LICENSE-MIT \
    /queens/target/x86_64-unknown-linux-gnu/release/queens \
    /queens/target/x86_64-unknown-linux-gnu/release/queens-coordinator \
    /queens/target/x86_64-unknown-linux-gnu/release/queens-worker \
    /
