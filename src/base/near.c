/* near.c - the nearest of many names to a misspelt one. */
#include "base/near.h"

#include <string.h>

#include "base/text.h"

takt_nearest takt_nearest_to(const char *wanted)
{
    /* A third of the letters may be wrong, at most three; one in short names, none in single
     * letters. */
    const size_t length = strlen(wanted);
    const size_t limit = length < 2 ? 0 : length < 4 ? 1 : length < 9 ? 2 : 3;
    return (takt_nearest){.wanted = wanted, .distance = limit + 1};
}

void takt_nearest_try(takt_nearest *n, const char *candidate)
{
    if (strcmp(n->wanted, candidate) == 0)
        return;
    if (takt_same_letters(n->wanted, candidate)) {
        n->distance = 0;
        n->best = candidate;
    }
    if (n->distance <= 1)
        return;
    const size_t distance = takt_name_distance(n->wanted, candidate, n->distance - 1);
    if (distance < n->distance) {
        n->distance = distance;
        n->best = candidate;
    }
}
