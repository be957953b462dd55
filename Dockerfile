# One image for all three programs, with nothing else in it but empty directories for data and keys: no shell, no root.
#
#   docker build --tag queens --build-arg QUEENS_COMMIT=$(git rev-parse --short=12 HEAD) .
#                                                 compiles in a Rust image, or
#   cargo static                                  compiles here, for
#   docker build --tag queens --target ready .    which pulls nothing
#
#   docker run --rm queens count 16
#
# Docker's older builder builds all stages above the one that is asked for. So what needs a pull comes last, and what is
# above it needs nothing.

# 10001 is nobody in particular. A volume gets the owner of the directory that it is mounted on, and COPY is the only
# way to give a directory away where there is no chown.
FROM scratch AS data
WORKDIR /image/data
WORKDIR /image/keys

FROM scratch AS base
COPY --from=data --chown=10001:10001 /image/ /
USER 10001:10001
ENTRYPOINT ["/queens"]

# The pattern matches nothing where `cargo static` has not run: then this image is of no use, but can be built, as the
# older builder does on its way to `compiled`.
FROM base AS ready
ARG QUEENS_TARGET=x86_64-unknown-linux-gnu
COPY LICENSE-* target/${QUEENS_TARGET}/release/queens* /

# The version of rust-toolchain.toml, which stays outside: rustup would add the tools that only developers need.
FROM rust:1.95.0-slim-bookworm AS compiler
WORKDIR /queens
COPY . .
# What versions carry; the repository itself stays outside.
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
