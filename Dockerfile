# One image for all three programs: nothing in it but them and an empty directory for data, no shell, no root.
#
#   docker build -t queens .                           compiles in a Rust image
#   cargo static && docker build --target ready -t queens .    takes what was compiled outside; pulls nothing
#   docker run --rm queens count 16
#
# The older builder builds all stages above the one that is asked for, so that the one that needs a pull comes last.

# 10001 is nobody in particular. A volume gets the owner of the directory that it is mounted on, and COPY is the only
# way to give a directory away where there is no chown.
FROM scratch AS data
WORKDIR /image/data

FROM scratch AS base
COPY --from=data --chown=10001:10001 /image/ /
USER 10001:10001
ENTRYPOINT ["/bin/queens"]

FROM base AS ready
COPY target/x86_64-unknown-linux-gnu/release/queens \
    target/x86_64-unknown-linux-gnu/release/queens-coordinator \
    target/x86_64-unknown-linux-gnu/release/queens-worker \
    /bin/

# The version of rust-toolchain.toml, which stays outside: rustup would add the tools that only developers need.
FROM rust:1.95.0-slim-bookworm AS compiler
WORKDIR /queens
COPY . .
RUN cargo static

FROM base AS compiled
COPY --from=compiler \
    /queens/target/x86_64-unknown-linux-gnu/release/queens \
    /queens/target/x86_64-unknown-linux-gnu/release/queens-coordinator \
    /queens/target/x86_64-unknown-linux-gnu/release/queens-worker \
    /bin/
