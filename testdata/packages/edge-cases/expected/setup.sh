#!/bin/sh
# Prepares a node.
set -eu

packages="curl jq git"
apt-get install -y $packages

mkdir -p /srv/data
chmod 750 /srv/data
chown daemon /srv/data

echo ready
