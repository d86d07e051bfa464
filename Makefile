# Short names for what people do; CMake does the work. `make help` lists them.
PRESET ?= release
PREFIX ?= /usr/local
BUILD := build/$(PRESET)

.PHONY: all build setup run quick test check asan fuzz graphs rules accuracy campaign kills steps wheel python-versions python-fuzz cov peers gpu-test gpu-peers venv format install clean help

all: build

build: ## build PRESET (release, native, lto, native-lto, minsize, dev, ...) and link build/takt to it
	@scripts/build $(PRESET)
	@ln -sfn $(PRESET)/takt build/takt

setup: ## install the Debian packages that are missing
	@scripts/setup

venv: ## Python packages in build/venv for tests that compare with onnxruntime; skipped without them
	@scripts/venv

run: ## build the command alone, with the packages that needs, and run a short demo
	@scripts/setup required
	@TARGET=takt scripts/build $(PRESET)
	@ln -sfn $(PRESET)/takt build/takt
	@scripts/demo

quick: setup build ## run the fast tests, less than a minute in all
	@scripts/test quick

test: setup build ## run every test; TAKT_FUZZ_SECONDS (5) is the time per fuzz target
	@scripts/test $(PRESET) cross fuzz

check: setup build ## the same, the slow tests, and again by clang, with sanitizers, in other presets
	@scripts/test $(PRESET) slow preload cross fuzz clang asan asan-python tsan tsan-python native lto native-lto minsize

asan: setup ## the test programs once more, with what ASan and UBSan see; preset asan, built by clang
	@scripts/test asan

wheel: build ## the Python package to publish, in build/wheel, compressed as small as zopfli makes it
	@scripts/wheel

python-versions: build ## the wheel under Python 3.13 to 3.15 of newer Debians, recorded in trust/ledger.tsv
	@TAKT_BUILD_DIR=$(abspath $(BUILD)) TAKT_TOOL=$(abspath build/takt) scripts/python-versions || [ $$? -eq 77 ]

python-fuzz: ## 100,000 random argument lists per callable of the Python package under ASan; SECONDS=600 JOBS=8 for a part of it
	@TARGET="takt_package takt_dynamic" scripts/build asan
	@scripts/python-fuzz $(if $(JOBS),--jobs $(JOBS)) $(if $(SECONDS),--seconds $(SECONDS)) || [ $$? -eq 77 ]

fuzz: setup ## a fuzz campaign of TAKT_FUZZ_SECONDS (600) per target, recorded in trust/ledger.tsv
	@scripts/build fuzz
	@scripts/fuzz

accuracy: build ## trains Fashion-MNIST, tiny-shakespeare, FSDD, HMP and five zoo models with several seeds, recorded in trust/accuracy.tsv
	@scripts/accuracy

campaign: build ## 200 A/A comparisons and 200 with 3 % slowdown, recorded in trust/ledger.tsv
	@scripts/campaign

kills: build ## 1,000 trainings killed and resumed, recorded in trust/ledger.tsv
	@scripts/kills

steps: build ## a training of 1,000,000 steps, its memory recorded in trust/ledger.tsv
	@scripts/steps

graphs: build ## a campaign of 20,000 random graphs, ref against cpu, recorded in trust/ledger.tsv
	@scripts/graphs --build $(BUILD)

rules: build ## a campaign of random rules against clingo (100,000) and ProbLog (10,000), recorded in trust/ledger.tsv
	@scripts/rules --build $(BUILD)

cov: setup ## line coverage of the test programs, per file
	@scripts/coverage

# Groups of rows with a program of their own; keep puts what they print into bench/results.
keep = $(if $(QUICK),,python3 bench/peers/keep.py $(ROWS))
peers_text = bench/peers/text.py $(if $(QUICK),--quick,--out bench/results)
peers_serve = $(keep) python3 bench/peers/serve.py $(if $(QUICK),--quick)
peers_verify = $(keep) python3 bench/peers/verify.py
peers_python = $(keep) python3 bench/peers/python.py
peers_torch-compile = $(keep) python3 bench/peers/torch_compile.py $(if $(QUICK),--rounds 6)
peers_logic = $(keep) bench/peers/logic.py $(if $(QUICK),--quick)
peers_tflite = $(keep) python3 bench/peers/tflite.py $(if $(QUICK),--quick)
peers_wide = python3 bench/peers/wide.py $(if $(QUICK),--quick) $(if $(LIMIT),--limit $(LIMIT))
peers_sizes = $(keep) python3 bench/peers/sizes.py $(if $(QUICK),--quick)
peers_rows = bench/peers/run $(if $(ROWS),--rows $(ROWS)) $(if $(PEERS),--peers $(PEERS)) $(if $(QUICK),--quick)

peers: setup build ## Takt against its peers, all rows; ROWS=gemm,mlp for some, ROWS=text|serve|train|verify|python|torch-compile|logic|tflite|wide|sizes, QUICK=1, PEERS=torch,...
	@BUILD=$(BUILD) $(or $(peers_$(ROWS)),$(peers_rows))

gpu-test: build ## everything that needs a GPU: kernels, models, sanitizer; skipped where there is none
	@scripts/gpu --build $(BUILD) kernels check digests faults models sanitizer || [ $$? -eq 77 ]

gpu-peers: build ## Takt against torch on a GPU, times as a caller sees them; skipped where there is none
	@python3 bench/peers/keep.py --gpu gpu-peers scripts/gpu --build $(BUILD) kernels models peers || [ $$? -eq 77 ]

format: ## let clang-format rewrite all C files
	@git ls-files -co --exclude-standard '*.c' '*.h' 'src/kernel/*.inc' | xargs clang-format -i

install: ## build what is installed and put it into PREFIX (/usr/local); DESTDIR is honoured
	@TARGET="takt_tool takt_measure_static libtakt-measure.so" scripts/build $(PRESET)
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 10
