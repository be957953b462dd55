# One image for all three programs, and one for graphics cards. The first has nothing else but empty directories for
# data and keys: no shell, no root.
#
#   docker build --tag queens --build-arg QUEENS_COMMIT=$(git rev-parse --short=12 HEAD) .
#                                                 compiles in a Rust image, on x86-64, or
#   cargo static                                  compiles here, for
#   docker build --tag queens --target ready .    which pulls nothing
#
#   docker run --rm queens count 16
#
# For graphics cards (docs/GPU.md):
#
#   docker build --tag queens-gpu --target gpu .
#   docker run --rm --gpus all queens-gpu count 22 --gpu all
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

# For graphics cards. Only a program that is linked dynamically can load a driver.
FROM rust:1.95.0-slim-bookworm AS gpu-compiler
WORKDIR /queens
COPY . .
ARG QUEENS_COMMIT
ARG QUEENS_COMMIT_DATE
# The variable replaces the flag of .cargo/static.toml that links statically; its other settings stay.
RUN RUSTFLAGS=-Ctarget-feature=-crt-static cargo static

# The glibc of the compiler. NVIDIA's container runtime mounts CUDA's driver, and the kernels are in the programs, so
# there is no CUDA toolkit. Drivers of OpenCL come from Debian's packages: --build-arg QUEENS_OPENCL=intel-opencl-icd.
FROM debian:bookworm-slim AS gpu
ARG QUEENS_OPENCL
RUN [ -z "$QUEENS_OPENCL" ] || { apt-get update && \
    apt-get install --yes --no-install-recommends ocl-icd-libopencl1 $QUEENS_OPENCL && rm -rf /var/lib/apt/lists/*; }
COPY --from=data --chown=10001:10001 /image/ /
COPY deploy/gpu-check /
COPY --from=gpu-compiler \
    /queens/LICENSE-APACHE \
    /queens/LICENSE-MIT \
    /queens/target/x86_64-unknown-linux-gnu/release/queens \
    /queens/target/x86_64-unknown-linux-gnu/release/queens-worker \
    /
# Drivers keep compiled kernels below it.
ENV HOME=/tmp
ENV NVIDIA_VISIBLE_DEVICES=all
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
ENTRYPOINT ["/queens"]

# Without --target, the last stage is built.
FROM compiled
