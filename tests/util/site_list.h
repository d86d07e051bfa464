/* site_list.h - making sites fail, and counting those that did (sites.h). */
#ifndef TAKT_TESTS_UTIL_SITE_LIST_H
#define TAKT_TESTS_UTIL_SITE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct takt_site takt_site;

/* Begins to count calls again. Call `fail_at`, from 1, fails; with `ever` all after it too; 0:
 * none.
 */
void takt_sites_plan(uint64_t fail_at, bool ever);
uint64_t takt_sites_calls(void);
/* Whether the call just entered has to fail, for an allocator (takt_inject.fails). */
bool takt_sites_strike(void *user);
/* The site of call `k` of the previous run, or NULL; only the first ones are remembered. */
const takt_site *takt_sites_at(uint64_t k);
/* How often it has failed. */
unsigned takt_site_failures(const takt_site *site);
/* Sites that cannot be reached: how many of a file, and why. */
typedef struct takt_site_excuse {
    const char *file;
    size_t count;
    const char *why;
} takt_site_excuse;
/* Prints "what: H allocation sites hit of K known" and the sites that never failed; returns how
 * many of those are not excused. The list ends with a file of NULL. */
size_t takt_sites_report(const char *what, const takt_site_excuse *excuses);

#endif
