#!/usr/bin/env bash
# Holds every #include of the library and the command against layers.txt.
# usage: layering.sh SOURCE_FOLDER [LAYERS_FILE]
set -euo pipefail
layers=$(realpath "${2:-$(dirname "${BASH_SOURCE[0]}")/layers.txt}")
cd "$1"

declare -A allowed=()
while read -r folder patterns; do
    if [[ -n $folder && $folder != '#'* ]]; then allowed[$folder]+=" $patterns"; fi
done <"$layers"

# rule_of FILE: the longest folder of the list that holds it.
rule_of() {
    local folder=${1%/*}
    while [[ -z ${allowed[$folder]:-} ]]; do
        if [[ $folder != */* ]]; then return 1; fi
        folder=${folder%/*}
    done
    printf '%s' "$folder"
}

may_include() {
    local rule=$1 name=$2 pattern patterns
    read -ra patterns <<<"${allowed[$rule]}"
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2053 # the right side is a glob
        case $pattern in
            !*) if [[ $name == ${pattern#!} ]]; then return 1; fi ;;
            *) if [[ $name == $pattern ]]; then return 0; fi ;;
        esac
    done
    return 1
}

checked=0 wrong=0
while read -r file; do
    if ! rule=$(rule_of "$file"); then
        printf '%s: no line of %s speaks of its folder\n' "$file" "$layers"
        wrong=$((wrong + 1))
        continue
    fi
    while IFS=: read -r line text; do
        name=${text#*[\"<]}
        name=${name%%[\">]*}
        # <vector>, <sys/stat.h> and the like belong to the system.
        if [[ $text == *'<'* && $name != xxhash.h && ($name != */* || $name == sys/*) ]]; then continue; fi
        checked=$((checked + 1))
        if ! may_include "$rule" "$name"; then
            printf '%s:%s: files of %s may not include %s\n' "$file" "$line" "$rule" "$name"
            wrong=$((wrong + 1))
        fi
    done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$file" || true)
done < <(find include src cli -name '*.h' -o -name '*.cpp' | sort)

printf '%d includes checked, %d against the layering\n' "$checked" "$wrong"
((checked > 0 && wrong == 0))
