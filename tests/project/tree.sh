#!/usr/bin/env bash
# The tree speaks of the project alone: no path of one machine, no registry or mirror, nothing unfinished, no file of
# code over 450 lines, no file over 1 MiB. The brackets keep the patterns from matching themselves.
# usage: tree.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"

list_files() {
    # A source archive has no git and no ignored files either, but perhaps build/.
    git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard 2>/dev/null ||
        find . -path ./build -prune -o -type f -printf '%P\0'
}
mapfile -d '' -t files < <(list_files)
wrong=0

# none WHAT PATTERN [FILE...]: no line of these files, or of all, matches.
none() {
    local what=$1 pattern=$2 found
    shift 2
    if (($# == 0)); then set -- "${files[@]}"; fi
    found=$(printf '%s\0' "$@" | xargs -0 grep -HInsE -e "$pattern" || true)
    if [[ -n $found ]]; then
        printf '%s:\n%s\n' "$what" "$found"
        wrong=$((wrong + 1))
    fi
}

none 'names a path of one machine' '(^|[^[:alnum:]_.])/([w]ork|[h]ome|[r]oot|[U]sers|[m]nt)(/|[^[:alnum:]_]|$)'
none 'names a build folder of one machine' '/[t]mp/build'
none 'names a registry or a mirror' \
    '[p]ypi\.org|[p]ythonhosted\.org|[n]pmjs\.|[c]rates\.io|[p]roxy\.golang|[a]naconda\.org|[g]hcr\.io|[d]ocker\.io'
none 'names a registry or a mirror' '[d]eb\.debian\.org|[a]rchive\.ubuntu\.com|[a]rtifactory|[s]napshot\.debian'
none 'is unfinished' '(^|[^[:alnum:]])([T]ODO|[F]IXME|[X]XX|[H]ACK)([^[:alnum:]]|$)'
none 'carries a conflict' '^([<]{7}|[>]{7}) '

for file in "${files[@]}"; do
    if [[ ! -f $file ]]; then continue; fi
    case $file in
        *.cpp | *.h | *.cmake | *.sh | *.py | dev | .ci/run)
            lines=$(wc -l <"$file")
            if ((lines > 450)); then
                printf '%s has %d lines and a file of code has at most 450\n' "$file" "$lines"
                wrong=$((wrong + 1))
            fi
            ;;
    esac
    bytes=$(stat -c %s "$file")
    if ((bytes > 1 << 20)); then
        printf '%s has %d bytes and a file of the tree has at most %d\n' "$file" "$bytes" $((1 << 20))
        wrong=$((wrong + 1))
    fi
done

printf '%d files checked, %d findings\n' "${#files[@]}" "$wrong"
((${#files[@]} > 0 && wrong == 0))
