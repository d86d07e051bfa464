/* data_batches.c - CIFAR-10's training part: five files that are read as one. */
#include <string.h>

#include "api/train/data.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"

enum { BATCHES = 5 };

typedef struct piece {
    void *bytes;
    size_t length;
} piece;

/* Records follow one another, so the bytes of all files together are a file of that kind. */
static takt_status read_joined(takt_data_set *set, const char *folder, const piece *pieces)
{
    size_t length = 0, at = 0;
    void *all;
    for (int i = 0; i < BATCHES; i++)
        if (!takt_size_add(length, pieces[i].length, &length))
            return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: the files are too large", folder);
    TAKT_TRY(takt_mem_get(set->ctx, length > 0 ? length : 1, "training files", &all));
    for (int i = 0; i < BATCHES; i++) {
        memcpy((uint8_t *)all + at, pieces[i].bytes, pieces[i].length);
        at += pieces[i].length;
    }
    const takt_data_file file = {.path = folder, .bytes = all, .length = length};
    set->format = takt_data_cifar.name;
    const takt_status status = takt_data_read(set, &file, &takt_data_cifar);
    takt_mem_put(set->ctx, all, length > 0 ? length : 1);
    return status;
}

/* Each is checked by itself, so that a message names the file. */
static takt_status read_piece(takt_data_set *set, const char *path, piece *p)
{
    TAKT_TRY(takt_read_file(set->ctx, path, &p->bytes, &p->length));
    const takt_data_file file = {.path = path, .bytes = p->bytes, .length = p->length};
    if (p->length == 0)
        return takt_data_unknown(set, &file);
    const takt_status status = takt_data_cifar_check(set, &file);
    return status == TAKT_OK ? status : takt_fail_hint(set->ctx, "%s", takt_data_cifar.advice);
}

takt_status takt_data_read_batches(takt_data_set *set, const char *folder, bool *found)
{
    piece pieces[BATCHES] = {0};
    const char *path = NULL;
    takt_status status = TAKT_OK;
    *found = true;
    for (int i = 0; i < BATCHES && status == TAKT_OK && *found; i++) {
        path = takt_arena_format(&set->arena, "%s/data_batch_%d.bin", folder, i + 1);
        status = path != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        *found = path != NULL && takt_data_exists(set->ctx, path);
        if (*found)
            status = read_piece(set, path, &pieces[i]);
    }
    if (status == TAKT_OK && *found)
        status = read_joined(set, folder, pieces);
    for (int i = 0; i < BATCHES; i++)
        if (pieces[i].bytes != NULL)
            takt_mem_put(set->ctx, pieces[i].bytes, pieces[i].length);
    return status;
}
