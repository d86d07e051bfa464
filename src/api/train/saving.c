/* saving.c - checkpoints written by a thread while training continues.
 *
 * The bytes of the file are made first, on the trainer's thread: they are the second copy of the
 * state. The thread only writes them and records the system's error; messages are made on the
 * trainer's thread, which owns the context.
 */
#include <string.h>

#include "api/train/trainer.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"

static void write_bytes(void *user)
{
    takt_saving *s = user;
    const takt_files *files = &s->ctx->files;
    takt_file *file;
    s->error = files->create(files->user, s->path, &file);
    if (s->error != 0)
        return;
    s->error = files->write(files->user, file, s->bytes, s->length);
    if (s->error == 0)
        s->error = files->commit(files->user, file);
    files->close(files->user, file);
}

static void wait_for(takt_trainer *t)
{
    takt_saving *s = &t->saving;
    if (s->thread != NULL)
        t->ctx->threads.join(t->ctx->threads.user, s->thread);
    s->thread = NULL;
}

void takt_saving_stop(takt_trainer *t)
{
    takt_saving *s = &t->saving;
    if (s->bytes == NULL)
        return;
    wait_for(t);
    takt_mem_put(t->ctx, s->bytes, s->length);
    takt_mem_put(t->ctx, s->path, strlen(s->path) + 1);
    *s = (takt_saving){0};
}

takt_status takt_trainer_save_end(takt_trainer *t)
{
    takt_saving *s = &t->saving;
    takt_status status = TAKT_OK;
    if (s->bytes == NULL)
        return TAKT_OK;
    wait_for(t);
    if (s->error != 0)
        status = takt_fail_file(t->ctx, TAKT_E_FILE_WRITE, s->path, "write", s->error);
    takt_saving_stop(t);
    return status;
}

static takt_status keep_path(takt_trainer *t, const char *path)
{
    void *copy;
    TAKT_TRY(takt_mem_get(t->ctx, strlen(path) + 1, "a path", &copy));
    t->saving.path = memcpy(copy, path, strlen(path) + 1);
    return TAKT_OK;
}

takt_status takt_trainer_save_begin(takt_trainer *t, const char *path, const char *note)
{
    takt_saving *s = &t->saving;
    const takt_threads *threads = &t->ctx->threads;
    TAKT_TRY(takt_trainer_save_end(t));
    TAKT_TRY(keep_path(t, path));
    const takt_status status = takt_checkpoint_bytes(t, note, &s->bytes, &s->length);
    if (status != TAKT_OK) {
        takt_mem_put(t->ctx, s->path, strlen(s->path) + 1);
        *s = (takt_saving){0};
        return status;
    }
    s->ctx = t->ctx;
    if (threads->start(threads->user, write_bytes, s, &s->thread) != 0) {
        s->thread = NULL; /* no thread available: written synchronously */
        write_bytes(s);
    }
    return TAKT_OK;
}

uint64_t takt_trainer_state_bytes(const takt_trainer *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < t->step.model->graph->slot_count; i++)
        bytes += takt_round_up(takt_tensor_bytes(&t->step.model->slots[i]), TAKT_ALIGN);
    return bytes;
}
