/* crew.h - the tasks of one step that go through rounds together.
 *
 * Every round has the same parts, and none begins before all parts of the previous round are done.
 * A task takes its own part, then parts not yet taken: with one thread, one task does all the work
 * and nothing waits. A waiting task waits for a part that a running thread has taken: it spins for
 * a moment, then sleeps.
 */
#ifndef TAKT_BACKEND_CPU_CREW_H
#define TAKT_BACKEND_CPU_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "os/futex.h"

enum { TAKT_CREW_MOST = 64 };

/* In the step's scratch; `before` and `after` of the step open and close it. */
typedef struct takt_crew {
    _Alignas(64) _Atomic uint32_t done; /* parts of all rounds */
    _Atomic uint32_t sleepers, stopped;
    uint32_t parts, rounds;
    takt_futex futex;
    bool can_sleep;
    struct {
        _Alignas(64) _Atomic uint32_t rounds; /* rounds in which this part was taken */
    } taken[TAKT_CREW_MOST];
} takt_crew;

typedef void takt_crew_fn(void *user, size_t round, size_t part);
/* False: the run ends here. Called by every task before every round. */
typedef bool takt_crew_goes_on_fn(void *user, size_t round);

typedef struct takt_crew_work {
    takt_crew_fn *run;
    takt_crew_goes_on_fn *goes_on;
    void *user;
} takt_crew_work;

/* parts <= TAKT_CREW_MOST, parts * rounds < 2^31. */
void takt_crew_open(takt_crew *crew, size_t parts, size_t rounds);
void takt_crew_close(takt_crew *crew);
/* All rounds, for the task whose own part is `part`. */
void takt_crew_run(takt_crew *crew, size_t part, const takt_crew_work *work);
/* Ends it for all tasks: true for the first caller. */
bool takt_crew_stop(takt_crew *crew);

#endif
