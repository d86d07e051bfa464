"""blas.py - the backend blas with no library, with the reference BLAS, and with a tuned one.

The loader finds stand-ins: empty files mean "not installed", small ones have the functions and
variables by which Takt recognises the real libraries. The libraries of this machine come last.
"""
import os
import subprocess

from _cli import MLP, TMP, expect, fails, finish, parsed, succeeds

PRODUCTS = """
#define PRODUCT(name, type)                                                                     \\
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda,\\
              const type *b, int ldb, type beta, type *c, int ldc)                              \\
    {                                                                                           \\
        (void)order, (void)beta;                                                                \\
        for (int i = 0; i < m; i++)                                                             \\
            for (int j = 0; j < n; j++) {                                                       \\
                type sum = 0;                                                                   \\
                for (int l = 0; l < k; l++)                                                     \\
                    sum += (ta == 111 ? a[i * lda + l] : a[l * lda + i]) *                      \\
                           (tb == 111 ? b[l * ldb + j] : b[j * ldb + l]);                       \\
                c[i * ldc + j] = alpha * sum;                                                   \\
            }                                                                                   \\
    }
PRODUCT(cblas_sgemm, float)
PRODUCT(cblas_dgemm, double)
"""
REFERENCE = PRODUCTS + "int RowMajorStrg, CBLAS_CallFromC;\n"
OPENBLAS = PRODUCTS + """
static int threads = 7;
void openblas_set_num_threads(int count) { threads = count; }
int openblas_get_num_threads(void) { return threads; }
const char *openblas_get_config(void) { return "OpenBLAS 9.9 of paper "; }
"""
FILES = ("libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2", "libblas.so.3")
NAMED = ("--backend", "blas", "--blas", "cblas", "--require", "blas")


def machine(name, **sources):
    """The environment of a machine that has these libraries, by the stem of their files."""
    folder = os.path.join(TMP, name)
    os.makedirs(folder, exist_ok=True)
    for file in FILES:
        target = os.path.join(folder, file)
        source = sources.get(file.split(".", maxsplit=1)[0])
        if source is None:
            open(target, "wb").close()
            continue
        with open(target + ".c", "w", encoding="utf-8") as text:
            text.write(source)
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", target,
                        target + ".c"], check=True)
    return {"LD_LIBRARY_PATH": folder}


def blas_of(env):
    return next(b for b in parsed("backends", "--json", env=env) if b["name"] == "blas")


def none():
    env = machine("none")
    told = blas_of(env)
    expect(not told["available"] and told["reason"] == "no CBLAS library is installed", told)
    fails(1, "run", MLP, "--backend", "blas", env=env, says=["no CBLAS library is installed"])
    fails(1, "run", MLP, *NAMED, env=env, says=["no CBLAS library was found: cblas"])
    fails(4, "run", MLP, "--require", "blas", env=env, says=["blas is required: no CBLAS library"])


def reference(env):
    """Never used unless named; then it works, and every text names it."""
    told = blas_of(env)
    expect(not told["available"] and "only the reference BLAS" in told["reason"], told)
    fails(1, "run", MLP, "--backend", "blas", env=env, says=["reference BLAS", "--blas cblas"])
    fails(4, "run", MLP, "--require", "blas", env=env, says=["is required: only the reference"])
    said = succeeds("run", MLP, *NAMED, "-t", "1", env=env)
    expect("cblas (reference BLAS, not tuned), thread count cannot be controlled\n" in said, said)
    for text in (succeeds("backends", env=env), succeeds("plan", MLP, *NAMED, env=env)):
        expect("reference BLAS" in text, text)


def tuned(env, name):
    told = blas_of(env)
    expect(told["available"] and name in told["version"], told)
    for threads, text in (("1", ", 1 thread\n"), ("2", ", 2 threads\n")):
        said = succeeds("run", MLP, "--backend", "blas", "--require", "blas", "-t", threads,
                        env=env)
        expect(name in said and text in said, said)


none()
try:
    both = machine("both", libblas=REFERENCE, libopenblas=OPENBLAS)
except (OSError, subprocess.CalledProcessError) as error:
    print("SKIP libraries of our own: no compiler:", error)
else:
    reference(machine("reference", libblas=REFERENCE))
    tuned(both, "openblas (OpenBLAS 9.9 of paper)")
    expect("cblas (reference BLAS, not tuned)" in blas_of(both)["version"], "both are listed")
    # Debian's alternatives may point libblas.so.3 at a tuned library.
    tuned(machine("linked", libblas=OPENBLAS), "cblas (OpenBLAS 9.9 of paper)")
here = blas_of({})
if here["available"]:
    succeeds("run", MLP, "--backend", "blas", "--require", "blas")
elif "reference" in here["reason"]:
    reference({})
finish()
