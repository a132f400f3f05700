#!/usr/bin/env bash
# Runs every event of events/ through `sam local invoke`, against engines on this machine. Linux only.
#
# Where Docker runs, it is used. Elsewhere, as root on Debian, a private one is started, with an
# image that looks like Lambda's, made of Debian's packages; it is stopped at the end, and its state
# stays in ~/.cache/winnow/sam-local for the next time.
#
# `make sam-local` calls this; SAM is the command line of SAM CLI.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${SAM:?call it by make sam-local}"

PYTHON=3.13
SUITE=trixie # the Debian that has this Python
IMAGE=public.ecr.aws/lambda/python:$PYTHON-x86_64 # the name that SAM CLI looks for
STATE=${XDG_CACHE_HOME:-$HOME/.cache}/winnow/sam-local

say() { printf 'sam-local: %s\n' "$*" >&2; }

install_docker() {
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io iptables)
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" ca-certificates >"$STATE/apt.log" 2>&1
}

start_docker() {
  say "starting a private Docker"
  dockerd --host "$DOCKER_HOST" --data-root "$STATE/data" --exec-root "$STATE/exec" \
    --pidfile "$STATE/docker.pid" >"$STATE/dockerd.log" 2>&1 </dev/null &
  local daemon=$!
  # shellcheck disable=SC2064 # the id of now
  trap "kill $daemon && wait $daemon || true" EXIT
  for _ in $(seq 1 150); do
    docker version >/dev/null 2>&1 && return
    sleep 0.2
  done
  say "Docker does not start:"
  tail -5 "$STATE/dockerd.log" >&2
  exit 1
}

# Debian's Python with Lambda's runtime client, laid out as in Lambda's own image.
make_image() {
  local folder
  folder=$(mktemp -d)
  say "making an image that looks like Lambda's, of Debian $SUITE"
  mmdebstrap --quiet --variant=minbase --include=python3,ca-certificates \
    --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$SUITE" - 2>"$STATE/mmdebstrap.log" | docker import - local/lambda-base >/dev/null
  uv pip install --quiet --target "$folder/runtime" --python-version "$PYTHON" \
    --python-platform x86_64-manylinux_2_28 --only-binary :all: awslambdaric
  cat >"$folder/bootstrap" <<EOF
#!/bin/sh
export PYTHONPATH="\$LAMBDA_TASK_ROOT:/opt/python/lib/python$PYTHON/site-packages:/opt/python:/var/runtime"
export AWS_EXECUTION_ENV=AWS_Lambda_python$PYTHON
cd "\$LAMBDA_TASK_ROOT" && exec python3 -m awslambdaric "\$_HANDLER"
EOF
  chmod +x "$folder/bootstrap"
  cat >"$folder/Dockerfile" <<EOF
FROM local/lambda-base
COPY runtime /var/runtime
COPY bootstrap /var/runtime/bootstrap
RUN mkdir -p /var/task /opt
ENV LANG=C.UTF-8 TZ=:UTC LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime
WORKDIR /var/task
EOF
  DOCKER_BUILDKIT=0 docker build --quiet --tag "$IMAGE" "$folder" >"$STATE/build.log" 2>&1 ||
    { cat "$STATE/build.log" >&2; exit 1; }
  rm -r "$folder"
}

if docker info >/dev/null 2>&1; then
  docker image inspect "$IMAGE" >/dev/null 2>&1 || docker pull --quiet "$IMAGE" >&2
elif [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  mkdir -p "$STATE"
  export DOCKER_HOST=unix://$STATE/docker.sock
  install_docker
  start_docker
  docker image inspect "$IMAGE" >/dev/null 2>&1 || make_image
else
  say "Docker does not run, and only root on Debian can start one here"
  exit 1
fi

WINNOW_SAM_LOCAL_HOST=$(docker run --rm --add-host this-machine:host-gateway --entrypoint cat \
  "$IMAGE" /etc/hosts | awk '$2 == "this-machine" { print $1 }')
export WINNOW_SAM_LOCAL_HOST
say "this machine is $WINNOW_SAM_LOCAL_HOST to its containers"
.venv/bin/pytest tests/e2e/test_events.py --verbose --durations=0 --durations-min=0.5
