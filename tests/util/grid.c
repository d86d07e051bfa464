/* grid.c - threads of a block as fibers. */
#define _GNU_SOURCE
#include "util/grid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    THREADS_MOST = 1024,
    TOGETHER_MOST = 16, /* blocks: two on each multiprocessor of the tests' device */
    STACK = 64 << 10,
    SHARED_MOST = 227 << 10, /* of a block on sm_90 */
    STATIC_MOST = 48 << 10
};

typedef enum fiber_state { FRESH, WAITS, AWAITS, ENDED } fiber_state;

typedef struct fiber {
    void *sp;
    fiber_state state;
    takt_lane lane;
    const uint32_t *word; /* AWAITS: until it is `least` or more */
    uint32_t least;
} fiber;

/* The private data of one block. */
typedef struct block_memory {
    char *stacks;
    fiber *fibers;
    unsigned char *fixed, *dynamic; /* shared memory */
} block_memory;

typedef struct group {
    const grid_launch *launch;
    const void *args;
    block_memory own;
    uint32_t round;
    bool is_open; /* some threads have not reached the end of the round */
    void *home;   /* the caller's stack pointer */
    fiber *current;
    const char *wrong;
} group;

/* ---- switching: saves the callee-saved registers on the old stack ---- */

__attribute__((noinline, used)) void grid_switch(void **save, void *to);

#if defined __x86_64__
__asm__(".text\n"
        ".globl grid_switch\n"
        ".type grid_switch, @function\n"
        "grid_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size grid_switch, . - grid_switch\n");
enum { SAVED = 6, CAN_SWITCH = 1 };

static void *fresh_stack(char *top, void (*entry)(void))
{
    void **sp = (void **)(void *)(top - 16);
    *--sp = NULL; /* where a call leaves its return address: 8 off a multiple of 16 */
    *--sp = (void *)entry;
    for (int i = 0; i < SAVED; i++)
        *--sp = NULL;
    return sp;
}
#elif defined __aarch64__
__asm__(".text\n"
        ".globl grid_switch\n"
        ".type grid_switch, %function\n"
        "grid_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x2, sp\n    str x2, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size grid_switch, . - grid_switch\n");
enum { SAVED = 20, CAN_SWITCH = 1 };

static void *fresh_stack(char *top, void (*entry)(void))
{
    void **sp = (void **)(void *)(top - 16) - SAVED;
    memset(sp, 0, SAVED * sizeof *sp);
    sp[11] = (void *)entry; /* x30 */
    return sp;
}
#else
enum { CAN_SWITCH = 0 };

void grid_switch(void **save, void *to)
{
    (void)save;
    (void)to;
}
static void *fresh_stack(char *top, void (*entry)(void))
{
    (void)entry;
    return top;
}
#endif

static _Thread_local group *running;

static void leave(group *g, fiber_state state)
{
    fiber *f = g->current;
    f->state = state;
    grid_switch(&f->sp, g->home);
}

static void enter(void)
{
    group *g = running;
    g->launch->kernel(g->args, &g->current->lane);
    leave(g, ENDED);
    abort(); /* a fiber that has ended is never resumed */
}

void takt_lane_sync(takt_lane *self)
{
    leave(self->group, WAITS);
}

void takt_lane_await(takt_lane *self, const uint32_t *word, uint32_t least)
{
    group *g = self->group;
    if (!g->launch->is_together)
        g->wrong = "blocks wait for each other in a launch that is not cooperative";
    while ((int32_t)(*word - least) < 0 && g->wrong == NULL) {
        g->current->word = word;
        g->current->least = least;
        leave(g, AWAITS);
    }
}

void *takt_lane_shared(takt_lane *self, size_t bytes)
{
    group *g = self->group;
    const size_t at = (self->shared_at + 15) & ~(size_t)15;
    self->shared_at = at + bytes;
    if (at + bytes > STATIC_MOST) {
        g->wrong = "more than 48 KiB of static shared memory";
        return g->own.fixed;
    }
    return g->own.fixed + at;
}

void *takt_lane_dynamic(takt_lane *self)
{
    return ((group *)self->group)->own.dynamic;
}

/* ---- blocks ---- */

/* A permutation of the threads: i times an odd number, modulo a power of two, skipping the rest. */
static uint32_t nth(const group *g, uint32_t i, uint32_t round)
{
    const uint32_t n = g->launch->threads;
    switch (g->launch->order) {
    case GRID_BACKWARD: return n - 1 - i;
    case GRID_SHUFFLED: {
        uint32_t size = 1;
        while (size < n)
            size *= 2;
        uint32_t x = i;
        do /* a cycle of the permutation leads back below n */
            x = (x * 2654435761U + 2 * round + 1) & (size - 1);
        while (x >= n);
        return x;
    }
    default: return i;
    }
}

static void step_into(group *g, fiber *f)
{
    g->current = f;
    running = g;
    grid_switch(&g->home, f->sp);
}

/* Resumes threads whose awaited word has its value; false: there were none. */
static bool advance_awaiting(group *g)
{
    bool any = false;
    for (uint32_t i = 0; i < g->launch->threads; i++) {
        fiber *f = &g->own.fibers[i];
        if (f->state != AWAITS || (int32_t)(*f->word - f->least) < 0)
            continue;
        step_into(g, f);
        any = true;
    }
    return any;
}

typedef enum block_state { GOES_ON, STUCK, DONE } block_state;

/* Every thread up to its next barrier, or its end. */
static block_state advance(group *g)
{
    uint32_t waiting = 0, ended = 0, awaiting = 0;
    for (uint32_t i = 0; i < g->launch->threads && !g->is_open; i++) {
        fiber *f = &g->own.fibers[nth(g, i, g->round)];
        if (f->state != ENDED)
            step_into(g, f);
    }
    g->is_open = true;
    while (advance_awaiting(g))
        continue;
    for (uint32_t i = 0; i < g->launch->threads; i++) {
        waiting += g->own.fibers[i].state == WAITS;
        ended += g->own.fibers[i].state == ENDED;
        awaiting += g->own.fibers[i].state == AWAITS;
    }
    if (awaiting > 0)
        return STUCK;
    g->is_open = false;
    g->round++;
    if (waiting > 0 && ended > 0)
        g->wrong = "some threads of a block ended while others wait at a barrier";
    return waiting > 0 && g->wrong == NULL ? GOES_ON : DONE;
}

static void open_block(group *g, const uint32_t *block)
{
    const grid_launch *l = g->launch;
    memset(g->own.fixed, 0xff, STATIC_MOST);
    memset(g->own.dynamic, 0xff, l->shared_bytes);
    memset(g->own.dynamic + l->shared_bytes, 0xa5, 64);
    for (uint32_t t = 0; t < l->threads; t++) {
        fiber *f = &g->own.fibers[t];
        *f = (fiber){.sp = fresh_stack(g->own.stacks + (size_t)(t + 1) * STACK, enter)};
        f->lane = (takt_lane){.thread = t, .threads = l->threads, .group = g};
        memcpy(f->lane.block, block, sizeof f->lane.block);
        memcpy(f->lane.grid, l->grid, sizeof f->lane.grid);
    }
}

/* Up to its end, or until it awaits other blocks. */
static block_state run_block(group *g)
{
    block_state state;
    while ((state = advance(g)) == GOES_ON)
        continue;
    for (size_t i = 0; i < 64; i++)
        if (g->own.dynamic[g->launch->shared_bytes + i] != 0xa5)
            g->wrong = "a kernel wrote beyond its dynamic shared memory";
    return state;
}

/* Kept between launches: a check makes hundreds of thousands. Blocks that run one after another
 * use the first. */
static _Thread_local block_memory kept[TOGETHER_MOST];

static bool get_memory(block_memory *m)
{
    if (m->stacks != NULL)
        return true;
    void *stacks = mmap(NULL, (size_t)THREADS_MOST * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        return false;
    m->fibers = calloc(THREADS_MOST, sizeof *m->fibers);
    m->fixed = aligned_alloc(64, STATIC_MOST);
    m->dynamic = aligned_alloc(64, SHARED_MOST + 64);
    if (m->fibers == NULL || m->fixed == NULL || m->dynamic == NULL)
        return false;
    m->stacks = stacks;
    return true;
}

static uint64_t block_count(const grid_launch *l)
{
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

/* Block number `i` in the order of the launch. */
static void open_nth(group *g, uint64_t i)
{
    const grid_launch *l = g->launch;
    const uint64_t b = l->order == GRID_FORWARD ? i : block_count(l) - 1 - i;
    const uint32_t block[3] = {(uint32_t)(b % l->grid[0]), (uint32_t)(b / l->grid[0] % l->grid[1]),
                               (uint32_t)(b / l->grid[0] / l->grid[1])};
    open_block(g, block);
}

static const char *run_apart(const grid_launch *l, const void *args)
{
    group g = {.launch = l, .args = args};
    if (!get_memory(&kept[0]))
        return "no memory for fibers";
    g.own = kept[0];
    for (uint64_t i = 0; i < block_count(l) && g.wrong == NULL; i++) {
        g.round = 0;
        open_nth(&g, i);
        (void)run_block(&g);
    }
    return g.wrong;
}

/* Blocks in turns, each until it awaits another. */
static const char *run_together(const grid_launch *l, const void *args)
{
    static _Thread_local group groups[TOGETHER_MOST];
    static _Thread_local block_state states[TOGETHER_MOST];
    const uint64_t count = block_count(l);
    uint64_t done = 0;
    if (count > TOGETHER_MOST)
        return "more blocks that wait for each other than the device has at once";
    for (uint64_t i = 0; i < count; i++) {
        groups[i] = (group){.launch = l, .args = args};
        states[i] = GOES_ON;
        if (!get_memory(&kept[i]))
            return "no memory for fibers";
        groups[i].own = kept[i];
        open_nth(&groups[i], i);
    }
    for (bool moved = true; done < count && moved;) {
        moved = false;
        for (uint64_t i = 0; i < count; i++) {
            if (states[i] == DONE)
                continue;
            const uint32_t before = groups[i].round;
            states[i] = run_block(&groups[i]);
            if (groups[i].wrong != NULL)
                return groups[i].wrong;
            done += states[i] == DONE;
            moved |= groups[i].round != before;
        }
    }
    return done == count ? NULL : "blocks wait for each other for ever";
}

const char *grid_run(const grid_launch *launch, const void *args)
{
    if (!CAN_SWITCH)
        return "this processor has no fibers here";
    if (launch->threads == 0 || launch->threads > THREADS_MOST || launch->grid[0] == 0 ||
        launch->grid[1] == 0 || launch->grid[2] == 0)
        return "a block or grid of no size, or a block of more than 1024 threads";
    if (launch->grid[0] > INT32_MAX || launch->grid[1] > 65535 || launch->grid[2] > 65535)
        return "a grid beyond the limits of the device";
    if (launch->shared_bytes > SHARED_MOST)
        return "more shared memory than a block can have";
    return launch->is_together ? run_together(launch, args) : run_apart(launch, args);
}

/* ---- kernels by name ---- */

#define TAKT_CUDA_KERNEL(name, stem)                                                               \
    takt_lane_fn name;                                                                             \
    extern const uint32_t name##_threads;
#include "cuda_kernel_list.inc"
#undef TAKT_CUDA_KERNEL

static const struct {
    const char *name;
    takt_lane_fn *run;
    const uint32_t *threads;
} kernels[] = {
#define TAKT_CUDA_KERNEL(name, stem) {#name, name, &name##_threads},
#include "cuda_kernel_list.inc"
#undef TAKT_CUDA_KERNEL
};

takt_lane_fn *grid_find(const char *name, uint32_t *threads)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) {
            *threads = *kernels[i].threads;
            return kernels[i].run;
        }
    return NULL;
}
