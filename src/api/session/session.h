/* session.h - what a session holds. */
#ifndef TAKT_API_SESSION_SESSION_H
#define TAKT_API_SESSION_SESSION_H

#include <takt/session.h>

#include "base/inner.h"
#include "base/lock.h"
#include "os/futex.h"
#include "os/memory.h"
#include "plan/execute.h"

typedef struct takt_session_port {
    takt_tensor_view view;         /* dense; data: the bound buffer, or `own`, or NULL at first */
    takt_tensor_view strided;      /* data: what the caller bound that is not dense, or NULL */
    bool is_view;                  /* steps read `strided` where it lies; else a run copies it */
    int64_t stride[TAKT_MAX_RANK]; /* its strides, dense ones for axes of one element */
    void *own;
    bool is_in_arena;        /* `own` is a place there */
    bool is_shown;           /* the caller may know `own` */
    size_t bytes, own_bytes; /* own_bytes: rounded to 64 */
} takt_session_port;

/* A thread of the session's own for takt_run_async. */
typedef struct takt_runner {
    void *thread; /* NULL: none so far */
    takt_futex futex;
    _Atomic uint32_t phase; /* TAKT_RUNNER_... */
    takt_done_fn *done;
    void *arg;
    _Atomic int status; /* of the last run */
    uint64_t process;   /* that has the thread */
} takt_runner;

enum { TAKT_RUNNER_IDLE, TAKT_RUNNER_BUSY, TAKT_RUNNER_STOP };

/* What a session has if its plan has ranges. */
typedef struct takt_session_range {
    takt_plan *top; /* the plan that the session was made for; the one it runs is a variant */
    struct takt_resizer *resizer; /* whose plan is the session's own; NULL: none, or not yet */
    bool has_resizer;             /* one was asked for */
    bool is_new;                  /* something was bound since sizes were settled */
    bool needs_replan; /* the run stopped to continue with a plan for the sizes it found */
    size_t ports, bytes;
    int64_t *cells;           /* of the size program */
    unsigned char *is_own;    /* per input: in the session's own memory, which exists */
    unsigned char *is_none;   /* per value-dependent name: it was 0 when last found */
    takt_tensor_view bound[]; /* inputs, then outputs; data NULL: the session's own memory */
} takt_session_range;

/* A packed form of a slot's value (takt_state_form). */
typedef struct takt_kept_form {
    struct takt_kept_form *next;
    takt_step_run_fn *run; /* with `fill`, instructions, bytes and format: which form it is */
    takt_status (*fill)(void *user, const void *from, void *to);
    takt_isa_set isas;
    takt_storage *storage;
    size_t offset, bytes;
    uint64_t version; /* of the value that it was packed from; 0: none */
    char format[];
} takt_kept_form;

typedef struct takt_state_slot {
    takt_tensor value, spare; /* spare: storage NULL where no plan exchanges the two */
    takt_plan_space place;    /* whose memory the value lies in; backend NULL: the host's */
    uint64_t version;         /* from 1; raised by every change of the value */
    takt_kept_form *forms;
    bool is_part; /* the memory is part of another state's, where others write without telling */
} takt_state_slot;

/* State that several sessions may share (takt_session_options.state_of). */
typedef struct takt_shared_state {
    _Atomic uint32_t references;
    _Atomic bool is_busy; /* a run of one of them is in progress */
    takt_lock lock;       /* while a session joins, or values and spares are exchanged */
    bool is_lost;         /* a device failed while writing: the contents are undefined */
    uint64_t swaps;       /* how often values and spares were exchanged */
    size_t slot_count;
    takt_state_slot slots[];
} takt_shared_state;

static inline void takt_shared_lock(takt_shared_state *shared)
{
    takt_lock_take(&shared->lock); /* for a few instructions, and an allocation at most */
}

static inline void takt_shared_unlock(takt_shared_state *shared)
{
    takt_lock_give(&shared->lock);
}

/* What a session has of a slot. */
typedef struct takt_session_slot {
    takt_state_slot *shared;
    bool is_mirror;    /* its plan needs the value in another memory: runs copy it there and back */
    uint64_t version;  /* of the value that was copied last */
    takt_tensor spare; /* of the copy, if the plan exchanges it */
} takt_session_slot;

struct takt_session {
    takt_ctx *ctx;
    /* From here to static_shapes: the part that takt_session_reshape replaces. */
    takt_plan *plan;
    void *tables; /* one block: descriptions, ports, bases and state tensors */
    takt_desc *input_descs, *output_descs;
    takt_session_port *inputs, *outputs;
    takt_tensor *state;        /* per slot, where the plan reads it; not for devices: see slots */
    takt_session_slot *slots;  /* per slot */
    takt_kept_form **forms;    /* per form of the plan */
    takt_shared_state *shared; /* whose tensors these are; NULL if there is no slot */
    uint64_t swaps;            /* of it, when `state` and bases were set */
    takt_session_range *range; /* NULL: the plan is for one size */
    unsigned char *arena;
    unsigned char *first_arena; /* where outputs lie, if runs use another arena; or NULL */
    size_t arena_bytes;         /* of one that is the session's own */
    uint64_t arena_given;       /* bytes, if the caller provided it; else 0 */
    size_t arena_pages; /* bytes of pages that the arena is, counted in the context; 0: none */
    takt_huge_pages pages;
    char pages_reason[TAKT_HUGE_REASON];
    void **base;          /* per buffer of the plan */
    uint32_t *port_first; /* per input, then output: its first buffer + 1; 0: none */
    uint32_t *port_next;  /* per buffer of an input or output: the next of the same + 1; 0: none */
    struct takt_session_space {
        unsigned char *arena;
        bool is_open;         /* parts has its backend's */
    } away[TAKT_SPACES];      /* spaces outside the host; [0] is not used */
    void *parts[TAKT_SPACES]; /* per space: what its backend's session_open made */
    const int64_t **strides;  /* per input: of one that is a view, else NULL */
    size_t view_count;
    takt_pool *pool;
    bool owns_arena, owns_pool;
    bool static_shapes;
    bool has_no_range; /* a range for its sizes could not be planned: takt_session_fit */
    bool may_outgrow;  /* the given arena: a size that needs more gets one of the session's own */
    takt_huge_pages wants_pages;
    takt_runner runner;
    _Atomic uint64_t runs;   /* 2 * runs begun, plus one during a run */
    _Atomic uint64_t cancel; /* the run that is to end, counted from 1; 0: none */
    /* Of the caller that runs it on behalf of others: it counts its own calls, and these are what a
     * cancel ends. NULL: none. */
    const _Atomic uint64_t *outer_cancel;
    uint64_t outer_run;
    takt_fault_slot fault;
    takt_error error;
    bool is_back;                 /* of the next run (takt_execution) */
    bool is_begun;                /* such a run: takt_session_finish waits for it */
    const takt_watch *watch;      /* gets the events of the steps; or NULL */
    takt_watch reader;            /* notified when runs end; `end` NULL: nothing is */
    struct takt_session *checker; /* with checks, for every check_every-th run; or NULL */
    uint64_t check_every, checked_runs;
    void *stream; /* of the caller's: runs are begun, and end later; or NULL */
};

/* Bytes of a session itself and its tables. */
size_t takt_session_overhead(const takt_plan *plan);
/* The part of that which a session with state has besides its tables. */
size_t takt_session_state_overhead(const takt_plan *plan);
/* Where the plan makes the next value of a slot that it exchanges. */
static inline const takt_tensor *takt_session_spare(const takt_session *s, size_t slot)
{
    return s->slots[slot].is_mirror ? &s->slots[slot].spare : &s->slots[slot].shared->spare;
}
/* The initial state of a session: its own memory, or that of `of`. */
TAKT_MUST_USE takt_status takt_session_get_state(takt_session *s, const takt_session *of);
/* Memory of slots that the caller gives: a storage on the host for each, whose bytes are zero, or
 * NULL for slots in memory of the session's own. */
typedef struct takt_given_state {
    takt_storage *const *slots; /* NULL: nothing is given */
} takt_given_state;
TAKT_MUST_USE takt_status takt_session_create_given(takt_plan *plan,
                                                    const takt_session_options *options,
                                                    takt_given_state given, takt_session **session);
/* The first values of such slots are their bytes: nothing is written to them. */
TAKT_MUST_USE takt_status takt_session_get_given(takt_session *s, takt_given_state given);
/* A session whose state is rows of the state of `of`, from `row` on: every state of both has a
 * leading dimension, and the same shape after it. `of` is only a store: it must not run, and may be
 * destroyed. Runs of such sessions must not overlap. */
TAKT_MUST_USE takt_status takt_session_create_part(takt_plan *plan,
                                                   const takt_session_options *options,
                                                   const takt_session *of, size_t row,
                                                   takt_session **session);
TAKT_MUST_USE takt_status takt_session_get_part(takt_session *s, const takt_session *of,
                                                size_t row);
/* Moves such a session to the rows from `to` on instead of `from`. The caller knows that there are
 * equally many, and that the session does not run. */
void takt_session_move_part(takt_session *s, size_t from, size_t to);
void takt_session_put_state(takt_session *s);
/* Marks the state as in use; false: another run uses it. */
bool takt_session_enter(takt_session *s);
void takt_session_leave(takt_session *s);
/* Bytes of all slots, each aligned, and copies of all of them to and from such a block. */
size_t takt_session_state_bytes(const takt_session *s);
TAKT_MUST_USE takt_status takt_session_save_state(const takt_session *s, unsigned char *to);
TAKT_MUST_USE takt_status takt_session_restore_state(takt_session *s, const unsigned char *from);
/* One slot to and from the host's memory, wherever it lies. Failures go into the context. */
TAKT_MUST_USE takt_status takt_slot_read(const takt_state_slot *slot, void *to);
TAKT_MUST_USE takt_status takt_slot_write(takt_state_slot *slot, const void *from);
/* The value on the host, to be released: itself, or a copy of memory elsewhere. */
TAKT_MUST_USE takt_status takt_session_look(const takt_session *s, size_t slot, takt_tensor *value);
/* Zeros. A device that cannot fails in the next run. */
void takt_session_clear(const takt_session *s, size_t slot);
/* Fails if a device has lost the state; into the session's error. */
TAKT_MUST_USE takt_status takt_session_has_state(takt_session *s);
/* A new session has its forms, shares them where it can, and its slots have spares (forms.c). */
typedef struct takt_supply {
    takt_storage *storage; /* that is handed out piece by piece, or NULL: pieces of their own */
    size_t offset;
} takt_supply;
TAKT_MUST_USE takt_status takt_session_get_forms(takt_session *s, takt_supply *from);
/* Bytes of the records of its forms. */
size_t takt_session_form_bytes(const takt_plan *plan);
void takt_slot_put_forms(takt_ctx *ctx, takt_state_slot *slot);
/* Before a run: values and forms are where the plan expects them, and as they should be. */
TAKT_MUST_USE takt_status takt_session_begin_state(takt_session *s, const takt_execution *x);
/* After one that has succeeded: what it changed is the state. */
TAKT_MUST_USE takt_status takt_session_end_state(takt_session *s);
/* Follows values that other sessions have exchanged. */
void takt_session_see_state(takt_session *s);
/* Where the buffers of an input or output lie. */
void takt_session_set_base(takt_session *s, takt_place_kind place, size_t index, void *data);
/* The session's own memory for a port, allocated at its first use; failures go into s->error. */
TAKT_MUST_USE takt_status takt_session_own(takt_session *s, takt_place_kind place, size_t index);
/* Every run copies what is bound there. */
static inline bool takt_port_moves(const takt_session_port *port)
{
    return port->strided.data != NULL && !port->is_view;
}
/* Elements lie one after another, in row-major order. */
TAKT_INNER bool takt_view_is_dense(const takt_tensor_view *v);
/* The step that cannot read input `index` with these strides; NULL: all that read it can. */
TAKT_INNER const takt_step *takt_session_obstacle(const takt_session *s, size_t index,
                                                  const int64_t *stride);
/* Every run reads a copy of `view`, whatever it is. */
TAKT_MUST_USE takt_status takt_session_copy_of(takt_session *s, size_t input,
                                               const takt_tensor_view *view);
/* Between the caller's strided buffers and the dense ones that steps use. */
TAKT_INNER TAKT_MUST_USE takt_status takt_session_copy_in(takt_session *s);
TAKT_INNER TAKT_MUST_USE takt_status takt_session_copy_out(takt_session *s);

/* device.c: a view whose `device` is not 0. Checks it; binds it; binds the host's memory again; and
 * copies one that steps on the host need. Failures go into s->error. */
TAKT_MUST_USE takt_status takt_session_check_device(takt_session *s, const takt_desc *d,
                                                    const takt_tensor_view *v);
TAKT_MUST_USE takt_status takt_session_bind_device(takt_session *s, takt_place_kind place,
                                                   size_t index, const takt_tensor_view *view);
TAKT_MUST_USE takt_status takt_session_leave_device(takt_session *s, takt_place_kind place,
                                                    size_t index);
TAKT_MUST_USE takt_status takt_session_copy_device(takt_session *s, const takt_session_port *port,
                                                   bool is_in);

/* stream.c: why runs cannot be begun and ended later, and the step that is the reason; NULL: they
 * can. */
const char *takt_session_cannot_begin(const takt_session *s, const char **step);
TAKT_MUST_USE takt_status takt_session_set_stream(takt_session *s, void *stream);
/* Whether a run that was begun must end before the next one begins. */
bool takt_session_must_end(const takt_session *s);
/* Waits for a run that was begun; its status. */
TAKT_MUST_USE takt_status takt_session_finish(takt_session *s);
/* takt_session_run that only begins. */
TAKT_MUST_USE takt_status takt_session_begin(takt_session *s);

/* Fails if a clause of the model does not hold in the run that has just ended. */
TAKT_MUST_USE takt_status takt_session_check_clauses(takt_session *s);
/* Every check_every-th time: the coming run with checks, beforehand. */
TAKT_MUST_USE takt_status takt_session_sample(takt_session *s);
TAKT_MUST_USE takt_status takt_session_add_checker(takt_session *s, takt_plan *checked,
                                                   uint64_t every);
/* Binds a view that has been checked. */
TAKT_MUST_USE takt_status takt_session_bind_port(takt_session *s, takt_place_kind place,
                                                 size_t index, const takt_tensor_view *view);
/* Checks a view against a description. */
TAKT_MUST_USE takt_status takt_session_check(takt_session *s, const takt_desc *d,
                                             const takt_tensor_view *v, bool is_input);

/* Additional state of a session with ranges; these functions do nothing for others. */
size_t takt_session_range_bytes(const takt_plan *plan);
TAKT_MUST_USE takt_status takt_session_make_range(takt_session *s);
void takt_session_put_range(takt_session *s);
/* Remembers what the caller binds; sizes that it changes are settled later. */
TAKT_MUST_USE takt_status takt_session_offer(takt_session *s, takt_place_kind place, size_t index,
                                             const takt_tensor_view *view);
/* Fails if the session is being measured: the tables of a measurement fit one plan only. */
TAKT_MUST_USE takt_status takt_session_refuse_watched(takt_session *s);
/* Replaces the plan by the one for the sizes of what is bound. */
TAKT_MUST_USE takt_status takt_session_settle(takt_session *s);
/* Binds the caller's buffers to a plan that replaced another. */
TAKT_MUST_USE takt_status takt_session_bind_all(takt_session *s);
/* lengths.c: after a size point of a run; a takt_execution's `point`. */
TAKT_MUST_USE takt_status takt_session_point(void *session, size_t step);
/* A plan of the sizes at which a run stopped (range->needs_replan), to run again with. */
TAKT_MUST_USE takt_status takt_session_again(takt_session *s);
/* Value-dependent sizes from node `behind` on are set to what is planned for at the other sizes. */
void takt_session_clamp(takt_session *s, int64_t *cells, takt_id behind);
/* Whether the size of an output is decided by values. */
bool takt_session_is_found(const takt_session *s, size_t output);
/* Sizes inside the ranges, by index of names: resizes the session's own plan, or replaces it.
 * Failures go into the context. */
TAKT_MUST_USE takt_status takt_session_change(takt_session *s, const int64_t *sizes);
/* The plan stayed and has other sizes: descriptions of inputs and outputs follow. An input of
 * another size that the session still owns for the caller (range->is_own) becomes zero. */
void takt_session_resized(takt_session *s);
/* Another plan of the ranges, with the same state and, if it is large enough, the same arena.
 * Failures go into the context. */
TAKT_MUST_USE takt_status takt_session_take(takt_session *s, takt_plan *plan);

/* The arena that the options ask for, and giving it back. */
TAKT_MUST_USE takt_status takt_session_get_arena(takt_session *s, const takt_session_options *o);
void takt_session_put_arena(takt_session *s);
/* Runs get a second arena: the caller may read outputs that lie in the first while they are bound
 * elsewhere. Failures go into s->error. */
TAKT_MUST_USE takt_status takt_session_part_arena(takt_session *s);
/* Arenas in spaces other than the host's; then what their backends need, once bases are set. */
TAKT_MUST_USE takt_status takt_session_get_spaces(takt_session *s);
TAKT_MUST_USE takt_status takt_session_open_parts(takt_session *s);
void takt_session_put_spaces(takt_session *s);
/* The pool that they ask for, its workers bound. */
TAKT_MUST_USE takt_status takt_session_get_pool(takt_session *s, const takt_session_options *o);
/* A run is under way, on another thread: a failure of the context, since the session's error is
 * that run's to write. */
TAKT_MUST_USE takt_status takt_session_refuse(takt_session *s);
/* Waits for the runner's last run and ends its thread. */
void takt_runner_end(takt_session *s);

#endif
