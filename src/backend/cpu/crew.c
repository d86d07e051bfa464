/* crew.c - the tasks of one step that go through rounds together. */
#include "backend/cpu/crew.h"

enum { PAUSES = 1000 }; /* before a task falls asleep: some ten microseconds */
#define STOPPED UINT32_C(0x80000000)

void takt_crew_open(takt_crew *crew, size_t parts, size_t rounds)
{
    atomic_init(&crew->done, 0);
    atomic_init(&crew->sleepers, 0);
    atomic_init(&crew->stopped, 0);
    crew->parts = (uint32_t)parts;
    crew->rounds = (uint32_t)rounds;
    crew->can_sleep = takt_futex_init(&crew->futex) == 0;
    for (size_t i = 0; i < parts; i++)
        atomic_init(&crew->taken[i].rounds, 0);
}

void takt_crew_close(takt_crew *crew)
{
    if (crew->can_sleep)
        takt_futex_deinit(&crew->futex);
}

static bool is_reached(takt_crew *crew, uint32_t count)
{
    return atomic_load_explicit(&crew->done, memory_order_acquire) >= count;
}

/* Waits until `count` parts are done. */
static void await(takt_crew *crew, uint32_t count)
{
    for (int i = 0; i < PAUSES || !crew->can_sleep; i++) {
        if (is_reached(crew, count))
            return;
        takt_spin_pause();
    }
    atomic_fetch_add(&crew->sleepers, 1);
    for (uint32_t seen; (seen = atomic_load(&crew->done)) < count;)
        takt_futex_wait(&crew->futex, &crew->done, seen);
    atomic_fetch_sub(&crew->sleepers, 1);
}

static void wake(takt_crew *crew)
{
    if (atomic_load(&crew->sleepers) > 0)
        takt_futex_wake(&crew->futex, &crew->done, TAKT_CREW_MOST);
}

bool takt_crew_stop(takt_crew *crew)
{
    uint32_t no = 0;
    return atomic_compare_exchange_strong(&crew->stopped, &no, 1);
}

/* Releases tasks that wait for parts that will never arrive. */
static void send_home(takt_crew *crew)
{
    atomic_fetch_or(&crew->done, STOPPED);
    wake(crew);
}

static void take_parts(takt_crew *crew, uint32_t round, size_t own, const takt_crew_work *work)
{
    for (uint32_t k = 0; k < crew->parts; k++) {
        const size_t part = (own + k) % crew->parts;
        uint32_t before = round;
        if (!atomic_compare_exchange_strong_explicit(&crew->taken[part].rounds, &before, round + 1,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue;
        work->run(work->user, round, part);
        if ((atomic_fetch_add(&crew->done, 1) + 1) % crew->parts == 0)
            wake(crew);
    }
}

void takt_crew_run(takt_crew *crew, size_t part, const takt_crew_work *work)
{
    /* A late thread can skip rounds that are over. */
    uint32_t round = atomic_load_explicit(&crew->done, memory_order_acquire) / crew->parts;
    for (; round < crew->rounds; round++) {
        if (atomic_load_explicit(&crew->stopped, memory_order_relaxed) != 0 ||
            !work->goes_on(work->user, round)) {
            send_home(crew);
            return;
        }
        take_parts(crew, round, part, work);
        await(crew, (round + 1) * crew->parts);
    }
}
