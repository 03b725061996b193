#!/bin/bash
# recipes.sh SOURCE SCRATCH: follows the recipes of CONTRIBUTING.md that need no compiler, with toys in a copy of SOURCE: a preset, a
# policy, and a comparison of names that the test `members` must refuse. Checks that the table of recipes names files that exist.
set -eu
source=$1 scratch=$2
fail() { echo "recipes: $*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch/python"
cd "$source"
cp -r cmake presets src nvib vib rdp dchi "$scratch"
cp -r python/nvdp "$scratch/python"
for name in $(grep -E '^\| (an?|a number) ' CONTRIBUTING.md | grep -oE '`[a-z_]+/[A-Za-z0-9_./]+`' | tr -d '`' | sort -u); do
    [ -e "$name" ] || fail "CONTRIBUTING.md: a recipe names $name, which does not exist"
done

cd "$scratch"
echo '{"description": "a toy", "epochs": 1}' >presets/toy.json
echo '{"description": "a toy policy"}' >presets/policies/toy-policy.json
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(toy NONE)' 'include(cmake/Presets.cmake)' >CMakeLists.txt
cmake -S . -B made >/dev/null
for name in toy toy-policy; do
    grep -qF "{\"$name\"," made/presets.c || fail "the build left $name out of the library's presets"
done

lines=('strcmp(name, "vtdp")' 'strcmp(name, "santext")' 'name == "bert"' 'strcmp(attack, "token")' '".safetensors or .parquet"')
printf '%s\n' "${lines[@]}" >src/share/toy.c
found=$("$source/tests/package/members.sh" . 2>&1 || true)
for line in "${lines[@]}"; do
    grep -qF "$line" <<<"$found" || fail "members.sh accepts $line outside of the tables"
done
[ "$(wc -l <<<"$found")" = "${#lines[@]}" ] || fail "members.sh: expected ${#lines[@]} lines, found: $found"
