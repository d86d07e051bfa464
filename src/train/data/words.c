/* words.c - labels that are words: classes are the different ones, in the order of their bytes.
 *
 * So files with the same classes give them the same numbers, whatever the order of their rows. */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "train/data/data.h"

static bool is_before(const void *a, const void *b)
{
    const takt_span *x = a, *y = b;
    const size_t least = x->length < y->length ? x->length : y->length;
    const int order = least > 0 ? memcmp(x->at, y->at, least) : 0;
    return order != 0 ? order < 0 : x->length < y->length;
}

static takt_status name_classes(takt_data_set *set, const void **sorted, size_t count)
{
    size_t classes = 0;
    for (size_t i = 0; i < count; i++)
        classes += i == 0 || is_before(sorted[i - 1], sorted[i]);
    set->class_name = takt_arena_array(&set->arena, classes, sizeof *set->class_name);
    if (set->class_name == NULL)
        return TAKT_ERR_MEMORY;
    set->names = 0;
    for (size_t i = 0; i < count; i++) {
        const takt_span *word = sorted[i];
        if (i > 0 && !is_before(sorted[i - 1], word))
            continue;
        const char *name = takt_arena_text(&set->arena, word->at, word->length);
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        set->class_name[set->names++] = name;
    }
    return TAKT_OK;
}

takt_status takt_data_number_words(takt_data_set *set, const takt_span *word, size_t count,
                                   int64_t *to)
{
    void *block;
    TAKT_TRY(takt_mem_zero(set->ctx, count, sizeof(void *), "order of labels", &block));
    const void **sorted = block;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &word[i];
    takt_sort_pointers(sorted, count, is_before);
    const takt_status status = name_classes(set, sorted, count);
    int64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        const takt_span *own = sorted[i];
        number += i > 0 && is_before(sorted[i - 1], own);
        to[own - word] = number;
    }
    takt_mem_put(set->ctx, block, count * sizeof(void *));
    return status;
}
