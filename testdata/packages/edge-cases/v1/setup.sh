#!/bin/sh
# Prepares a node.
set -eu

packages="curl jq"
apt-get install -y $packages

mkdir -p /srv/data
chmod 750 /srv/data

echo ready
