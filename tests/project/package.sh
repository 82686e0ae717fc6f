#!/usr/bin/env bash
# The installed package serves a project outside the tree: installs, moves the prefix, builds examples/consumer against
# it and runs that.
# usage: package.sh SOURCE_FOLDER BUILD_FOLDER COMPILER static|shared
# `static` installs what BUILD_FOLDER holds; `shared` first builds the library alone as a shared one.
set -euo pipefail
source_folder=$1 build_folder=$2 compiler=$3 kind=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [[ $kind == shared ]]; then
    build_folder=$folder/shared
    cmake -S "$source_folder" -B "$build_folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DBUILD_SHARED_LIBS=ON \
        -DCMAKE_BUILD_TYPE=Release -DJALI_BUILD_TESTS=OFF -DJALI_BUILD_BENCH=OFF -DJALI_BUILD_COMMAND=OFF
    cmake --build "$build_folder"
fi
cmake --install "$build_folder" --prefix "$folder/installed"
mv "$folder/installed" "$folder/moved"

cmake -S "$source_folder/examples/consumer" -B "$folder/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/moved"
cmake --build "$folder/consumer"
"$folder/consumer/consumer"

if grep -rlF "$source_folder" "$folder/moved/include" "$folder/moved/lib"*/cmake; then
    printf 'the installed files above name the folder of the sources\n'
    exit 1
fi
