# The images of the krm-merge function: the default, and the target `plugins`. They build with the legacy builder and with BuildKit.
#
# BASE        the image whose Python the function runs on: Debian-like, Python 3.11 or later as python3. It is named by its digest, so that
#             one commit always builds on the same bytes; Dependabot proposes newer ones. For another one: --build-arg BASE=...
# BUILD_BASE  the image of the build stage: the same Python at the same path as BASE, with its venv module. It differs from BASE only
#             where the build needs something that must not reach the final image, such as a private certificate authority.
ARG BASE=python:3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8
ARG BUILD_BASE=${BASE}

FROM ${BUILD_BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/fn
COPY constraints/image.txt constraints/build.txt ./
RUN /opt/build/bin/pip install --only-binary=:all: --no-deps --require-hashes -r build.txt \
 && /opt/build/bin/pip --python /opt/fn/bin/python install --only-binary=:all: --no-deps --require-hashes --no-compile -r image.txt
COPY pyproject.toml README.md LICENSE ./
COPY integrations/metadata.yaml ./integrations/
COPY docs ./docs
COPY fn ./fn
# Bytecode is compiled here, since the function runs as a user who cannot write it. The image's files never change, so Python need not
# compare it with its source at every start.
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /opt/wheel . \
 && /opt/build/bin/pip --python /opt/fn/bin/python install --no-deps --no-index --no-compile /opt/wheel/*.whl \
 && /opt/fn/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/fn/lib

FROM ${BASE} AS base
# The official Python images come without bytecode of the standard library; without it every start compiles what it imports.
RUN python3 -m compileall -q -j 0 -x '/(test|tests|idlelib|lib2to3|turtledemo|tkinter|ensurepip|pydoc_data|site-packages|dist-packages)/' \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
RUN mkdir -m 0755 /plugins

FROM base AS files
COPY --from=build /opt/fn /opt/fn
COPY tools/image_files.py ./
RUN python3 image_files.py /opt/fn /rootfs

FROM scratch AS settings
ENV PATH=/opt/fn/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="krm-merge" \
      org.opencontainers.image.description="KRM function that merges Kubernetes configuration from several sources" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/krm-merge/krm-merge" \
      org.opencontainers.image.documentation="https://github.com/krm-merge/krm-merge/blob/main/README.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
USER 65534:65534
WORKDIR /
ENTRYPOINT ["krm-merge"]

# For images with executable plugins made FROM it: a slim Debian with a shell, since plugins may be scripts (docs/transform.md). Only who
# builds an image can put something into /plugins.
FROM settings AS plugins
COPY --from=base / /
COPY --from=build /opt/fn /opt/fn
ENV KRM_MERGE_PLUGIN_DIR=/plugins

# The default: Python and the function. No shell, no package manager, nothing else to run.
FROM settings AS function
COPY --from=files /rootfs /
