/* data_alloc.c - every reader of data when memory or a file operation fails: nothing is lost. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"
#include "util/memfs.h"

typedef struct source {
    const char *path, *bytes;
    size_t length;
    uint64_t samples;
} source;

#define SOURCE(path, samples, text)                                                                \
    {                                                                                              \
        path, text, sizeof(text) - 1, samples                                                      \
    }

/* Two of them are compressed: "deflated" is what numpy.savez_compressed(x=[0.5, 1]) writes. */
static const source sources[] = {
    SOURCE("table.csv", 3, "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n"),
    SOURCE("labels-idx1-ubyte", 3, "\0\0\x08\1\0\0\0\3\0\1\2"),
    SOURCE("text.txt", 1,
           "to be or not to be, that is the question: whether it is nobler in the mind"),
    SOURCE("a.pgm", 1, "P5\n2 1\n255\nab"),
    SOURCE("a.wav", 1,
           "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\4\0\0\0"
           "\1\0\2\0"),
    SOURCE("list.tsv", 2, "a.pgm\tx\na.pgm\ty\n"),
    SOURCE("sounds.tsv", 2, "a.wav\t0\na.wav\t1\n"),
    SOURCE("array.npy", 2,
           "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }     "
           "                                                       \012\000\000\000\077\000\000"
           "\200\077"),
    SOURCE("stored.npz", 2,
           "PK\003\004\024\000\000\000\000\000\000\000!\000\244*\042\002\210\000\000\000\210\000"
           "\000\000\005\000\000\000x.npy\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order':"
           " False, 'shape': (2,), }                                                            "
           "\012\000\000\000\077\000\000\200\077PK\001\002\024\003\024\000\000\000\000\000\000"
           "\000!\000\244*\042\002\210\000\000\000\210\000\000\000\005\000\000\000\000\000\000"
           "\000\000\000\000\000\200\001\000\000\000\000x.npyPK\005\006\000\000\000\000\001\000"
           "\001\0003\000\000\000\253\000\000\000\000\000"),
    SOURCE("deflated.npz", 2,
           "PK\003\004\024\000\000\000\010\000\000\000!\000\244*\042\002L\000\000\000\210\000"
           "\000\000\005\000\000\000x.npy\233\354\027\352\033\020\311\310P\306P\255\236\222Z\234"
           "\134\244n\245\240n\223f\242\256\243\240\236\226_TR\224\230\027\237_\224\222\012\022w"
           "K\314)N\005\212\027g$\026\244\002\371\032F:\232:\012\265\012\024\000.\006\006\006{"
           "\006\206\006{\000PK\001\002\024\003\024\000\000\000\010\000\000\000!\000\244*\042"
           "\002L\000\000\000\210\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000"
           "\200\001\000\000\000\000x.npyPK\005\006\000\000\000\000\001\000\001\0003\000\000\000"
           "o\000\000\000\000\000"),
    SOURCE("table.csv.gz", 2,
           "\037\213\010\000\000\000\000\000\002\0033\3241\3221\3402\3261\3211\344\002\000M\007"
           "\350\277\014\000\000\000"),
};

static takt_status scenario(takt_inject *inject, void *user)
{
    const source *s = user;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_data *d = NULL;
    float x[64];
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_data_open(ctx, s->path, NULL, &d);
    EXPECT((status == TAKT_OK) == (d != NULL));
    if (d != NULL) {
        const uint64_t row = 0;
        const takt_desc *f = takt_data_field(d, 0);
        takt_tensor_view to = {.dtype = TAKT_F32, .rank = f->rank, .data = x};
        memcpy(to.dims, f->dims, sizeof f->dims);
        to.dims[0] = 1;
        EXPECT_EQ(takt_data_count(d), s->samples);
        EXPECT(takt_data_source(d, f->name, 0) != NULL &&
               takt_data_source(d, f->name, s->samples) == NULL);
        status = takt_data_take(d, f->name, &row, 1, &to);
    }
    takt_data_destroy(d);
    takt_ctx_destroy(ctx);
    return status;
}

static void sources_are_told(takt_memfs *fs)
{
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    takt_ctx *ctx;
    takt_data *d;
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_data_open(ctx, "list.tsv", NULL, &d))) {
        EXPECT(strcmp(takt_data_source(d, "labels", 1), "a.pgm") == 0);
        EXPECT(takt_data_source(d, NULL, 0) == NULL && takt_data_source(NULL, "x", 0) == NULL);
    }
    takt_data_destroy(d);
    if (EXPECT_OK(ctx, takt_data_open(ctx, "table.csv", NULL, &d)))
        EXPECT(strcmp(takt_data_source(d, "labels", 2), "table.csv") == 0);
    takt_data_destroy(d);
    takt_ctx_destroy(ctx);
}

static takt_memfs *all;

static takt_status in_memory(takt_inject *inject, void *user)
{
    inject->inner_files = takt_memfs_files(all);
    return scenario(inject, user);
}

int main(void)
{
    all = takt_memfs_create();
    if (!EXPECT(all != NULL))
        return test_done();
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        EXPECT_EQ(takt_memfs_put(all, sources[i].path, sources[i].bytes, sources[i].length), 0);
    sources_are_told(all);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const takt_sweep_report r = takt_sweep(in_memory, (void *)&sources[i], TAKT_INJECT_ALL);
        EXPECT(r.is_good, "%s: %s", sources[i].path, r.message);
    }
    takt_memfs_destroy(all);
    return test_done();
}
