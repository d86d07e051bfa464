/* fault_merge.c - two tasks that fault at once leave the element and the value of one of them.
 *
 * fault.c is compiled here with a point before each of its accesses to shared memory, at which the
 * schedule, a string of bits, selects the thread that continues: every schedule is tried.
 */
#include "test.h"

#include <pthread.h>

#include "plan/plan.h"

enum { BITS = 9 };

static void point(void);
#define TAKT_FAULT_POINT() point()
#define takt_fault_merge merge_by_points
#define takt_fault_reset reset_by_points
void takt_fault_merge(takt_fault_slot *slot, const takt_fault *fault);
void takt_fault_reset(takt_fault_slot *slot);
#include "../../src/plan/fault.c"

typedef struct schedule {
    pthread_mutex_t mutex;
    pthread_cond_t turned;
    unsigned bits, used;
    int running; /* the thread that may continue */
    bool is_done[2];
} schedule;

static schedule plan = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
static _Thread_local int self;

/* The thread that continues after a point of `self`: by the bits, then alternating, so that a
 * thread that waits for the other does not wait forever. */
static int next(void)
{
    const int other = !self;
    if (plan.is_done[other])
        return self;
    return plan.used < BITS ? (int)(plan.bits >> plan.used++ & 1) : other;
}

static void wait_for_turn(void)
{
    while (plan.running != self)
        pthread_cond_wait(&plan.turned, &plan.mutex);
}

static void point(void)
{
    pthread_mutex_lock(&plan.mutex);
    plan.running = next();
    pthread_cond_broadcast(&plan.turned);
    wait_for_turn();
    pthread_mutex_unlock(&plan.mutex);
}

typedef struct task {
    int thread;
    takt_fault_slot *slot;
    takt_fault fault;
} task;

static void *run(void *user)
{
    const task *t = user;
    self = t->thread;
    pthread_mutex_lock(&plan.mutex);
    wait_for_turn();
    pthread_mutex_unlock(&plan.mutex);
    takt_fault_merge(t->slot, &t->fault);
    pthread_mutex_lock(&plan.mutex);
    plan.is_done[self] = true;
    plan.running = !self;
    pthread_cond_broadcast(&plan.turned);
    pthread_mutex_unlock(&plan.mutex);
    return NULL;
}

static void try_schedule(unsigned bits, uint64_t first, uint64_t second)
{
    takt_fault_slot slot;
    takt_fault_reset(&slot);
    /* A value shows which thread wrote it. */
    task tasks[2] = {{0, &slot, {.index = first, .value = (int64_t)first * 10}},
                     {1, &slot, {.index = second, .value = (int64_t)second * 10}}};
    pthread_t threads[2];
    plan.bits = bits;
    plan.used = 0;
    plan.running = 0;
    plan.is_done[0] = plan.is_done[1] = false;
    for (int i = 0; i < 2; i++)
        if (!EXPECT_EQ(pthread_create(&threads[i], NULL, run, &tasks[i]), 0))
            exit(1); /* the first would wait forever */
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    const uint64_t lowest = first < second ? first : second;
    const uint64_t element = atomic_load(&slot.element);
    const int64_t value = atomic_load(&slot.value);
    EXPECT(element == lowest && value == (int64_t)lowest * 10,
           "schedule %u: element %d with value %d, expected %d", bits, (int)element, (int)value,
           (int)lowest);
}

static void every_schedule(void)
{
    for (unsigned bits = 0; bits < 1u << BITS; bits++) {
        try_schedule(bits, 3, 5);
        try_schedule(bits, 5, 3);
    }
}

TEST_MAIN(every_schedule)
