/* rules.h - maps names of foreign weights to those of the model.
 *
 * One rule per line, `FROM -> TO`; the first match wins:
 *
 *     model.layers.*.self_attn.q_proj.weight -> layers.*.query transpose
 *     *.num_batches_tracked -> -
 *
 * A star stands for one or more characters other than a dot, and the matched text replaces the
 * stars of TO, in order. `transpose` swaps the last two axes, `transpose=2,0,1` takes them in that
 * order. TO `-` leaves a tensor out; a name that no rule matches stays. # begins a comment.
 */
#ifndef TAKT_IO_WEIGHTS_RULES_H
#define TAKT_IO_WEIGHTS_RULES_H

#include "base/arena.h"
#include "ir/tensor.h"

typedef struct takt_weight_rule {
    const char *from, *to; /* NULL: leave it out */
    bool swaps;            /* the last two axes */
    int axis_count;        /* 0: unchanged */
    int axis[TAKT_MAX_RANK];
    size_t line;
    size_t used; /* number of names it matched */
} takt_weight_rule;

typedef struct takt_weight_rules {
    takt_weight_rule *at;
    size_t count;
} takt_weight_rules;

enum { TAKT_WEIGHT_NAME = 1024 };

/* `name` is the file's, for messages; the text is in the arena afterwards. */
TAKT_MUST_USE takt_status takt_weight_rules_read(takt_arena *arena, const char *name,
                                                 const char *text, takt_weight_rules *rules);
/* The rule that matches `name`, and the model's name for it; NULL: no rule matches. */
takt_weight_rule *takt_weight_rules_find(const takt_weight_rules *rules, const char *name,
                                         char to[TAKT_WEIGHT_NAME]);
/* The type after the rule; false: the rule's axes do not fit the type. */
bool takt_weight_rule_type(const takt_weight_rule *rule, const takt_type *from, takt_type *to);
/* Elements in the rule's order. Their size is a whole number of bytes. */
void takt_weight_rule_move(const takt_weight_rule *rule, const takt_type *from, const void *bytes,
                           void *to);

#endif
