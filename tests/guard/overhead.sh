#!/bin/sh
# overhead.sh - a step costs at most 60 ns in addition to its kernel; the best of six tries counts.
#
# A virtual machine whose host is busy takes half as long again for everything: up to twice the
# limit the test says so and is skipped. guard_instructions counts what time cannot show there.
if grep -q '^TAKT_SANITIZE:.*=.' "$TAKT_BUILD_DIR/CMakeCache.txt" ||
    ! grep -Eq '^CMAKE_BUILD_TYPE:.*=(Release)?$' "$TAKT_BUILD_DIR/CMakeCache.txt"; then
    echo "skipped: only a release build is timed"
    exit 77
fi
best=1000000
for try in 1 2 3 4 5 6; do
    BUILD=$TAKT_BUILD_DIR bench/overhead/run > "$TAKT_TEST_TMP/out" || exit 1
    cat "$TAKT_TEST_TMP/out"
    grep -q '^a step without its kernel: .*: held$' "$TAKT_TEST_TMP/out" && exit 0
    whole=$(sed -n 's/^a step without its kernel: *\([0-9]*\)\..*/\1/p' "$TAKT_TEST_TMP/out")
    [ -n "$whole" ] && [ "$whole" -lt $best ] && best=$whole
done
if [ $best -lt 120 ]; then
    echo "skipped: $best ns at best; the machine is too busy to tell whether 60 ns are held"
    exit 77
fi
exit 1
