#!/usr/bin/env bash
# Puts the package's Kptfiles in place; run before every run of the function.
set -euo pipefail
find . -name local.Kptfile -execdir mv {} Kptfile \;
