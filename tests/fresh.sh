#!/usr/bin/env bash
# What a new user does, on a machine that knows nothing of this project: clone, make demo, make test.
# The clone goes into an empty folder with an empty home; of the environment only PATH and pip's variables are kept.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(mktemp -d "${TMPDIR:-/tmp}/sanne-fresh.XXXXXX")
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/tmp"
git clone --quiet --no-hardlinks . "$place/sanne"

kept=(PATH="$PATH" HOME="$place/home" TMPDIR="$place/tmp" LANG=C.UTF-8)
while IFS='=' read -r -d '' name value; do
  [[ $name == PIP_* ]] && kept+=("$name=$value")
done < <(env -0)

step() {
  local log="$place/$1.log" began=$SECONDS
  if ! env -i "${kept[@]}" make --no-print-directory -C "$place/sanne" "$1" >"$log" 2>&1; then
    cat "$log"
    echo "make $1 FAILED after $((SECONDS - began)) s"
    exit 1
  fi
  results+=("make $1: $((SECONDS - began)) s, $(tail -n 1 "$log")")
  skipped+=$(grep -E '^SKIPPED' "$log" || true)
}

results=()
skipped=""
step demo
step test
printf '%s\n' "${results[@]}"
echo "skipped: ${skipped:-nothing}"
