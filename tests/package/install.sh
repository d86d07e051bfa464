# install.sh - an installed and then moved Takt serves CMake, pkg-config and plain cc.
set -eu
work=$(mktemp -d "$TAKT_TEST_TMP/XXXXXX")
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
source=tests/package/consumer.c

[ -f "$TAKT_BUILD_DIR/libtakt.so" ] || { echo "skipped: libtakt is not built"; exit 77; }
cmake --install "$TAKT_BUILD_DIR" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/moved"
lib=$(dirname "$(find "$work/moved" -name libtakt.a)")
failed=0

# check NAME PROGRAM: it runs and says what the command says.
check() {
    if ! LD_LIBRARY_PATH=$lib "$2" >"$work/out" 2>&1 || ! grep -q '^takt 0\.1\.0: 0\.' "$work/out"; then
        echo "the consumer built by $1 does not run:"
        cat "$work/out"
        failed=1
    fi
}

"$cc" -std=c17 -I "$work/moved/include" $source -L "$lib" -ltakt -o "$work/plain"
check "plain cc" "$work/plain"
"$cc" -std=c17 -I "$work/moved/include" $source "$lib/libtakt.a" -lm -pthread -o "$work/static"
check "plain cc, static" "$work/static"

if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$lib/pkgconfig
    "$cc" -std=c17 $source $(pkg-config --cflags --libs takt) -o "$work/pkg"
    check pkg-config "$work/pkg"
    "$cc" -std=c17 -DREPORTS $source $(pkg-config --cflags --libs takt-measure) -o "$work/reports"
    check "pkg-config takt-measure" "$work/reports"
    pkg-config --variable=prefix takt | grep -q first && { echo "takt.pc names the old prefix"; failed=1; }
else
    echo "pkg-config is not installed: that way was not tried"
fi

cmake -S tests/package/cmake -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check "find_package, shared" "$work/cmake/with_takt"
check "find_package, static" "$work/cmake/with_takt_static"
check "find_package, measure" "$work/cmake/with_takt_measure"
check "find_package, measure, static" "$work/cmake/with_takt_measure_static"

# The manual page and completions lie where shells look for them.
share=$work/moved/share
for file in man/man1/takt.1:'\.SH NAME' bash-completion/completions/takt:'complete .*takt' \
    zsh/site-functions/_takt:'^#compdef takt' fish/vendor_completions.d/takt.fish:'^complete -c takt'; do
    if ! grep -q -- "${file#*:}" "$share/${file%%:*}"; then
        echo "share/${file%%:*} is not installed, or not what it should be"
        failed=1
    fi
done

# Nothing in the installation may name where it was built or first put.
if grep -rlE "$work/first|$PWD" "$work/moved" --include='*.cmake' --include='*.pc'; then
    echo "these installed files name folders of the build"
    failed=1
fi
exit $failed
