#!/bin/bash
# Installs what real nodes (go run -C test/cluster . -nodes 3) need of Debian or
# Ubuntu and do not build from Go modules: runc, which runs containers, and
# debootstrap, which makes the image of their pods.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends --no-upgrade runc debootstrap
