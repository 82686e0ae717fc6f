#!/usr/bin/env bash
# Every public header compiles alone, twice included, and needs nothing but include/.
# usage: headers.sh SOURCE_FOLDER COMPILER
set -euo pipefail
cd "$1/include"
wrong=0 checked=0
for header in jali/*.h; do
    checked=$((checked + 1))
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$2" -std=c++20 -Wall -Wextra -Wpedantic -fsyntax-only -I . -x c++ -; then
        printf '%s does not compile alone\n' "$header"
        wrong=$((wrong + 1))
    fi
    # The audit is a library of its own.
    if [[ $header != jali/jali.h && $header != jali/audit* ]] && ! grep -qF "#include \"$header\"" jali/jali.h; then
        printf 'jali/jali.h does not include %s\n' "$header"
        wrong=$((wrong + 1))
    fi
done
printf '%d public headers checked, %d wrong\n' "$checked" "$wrong"
((checked > 0 && wrong == 0))
