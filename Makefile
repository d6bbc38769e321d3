# Every target installs what it needs into .venv (tools/bootstrap); none needs root access.
.DEFAULT_GOAL := help
.PHONY: help demo deployments streams usage-roles test cluster lakes chaos simulate mutants check bench bench-peers flows fuzz asan-threads docs coverage-table cross cross-go conformance wheels clean

PYTHON := .venv/bin/python
CASES ?= 100000
COMMA := ,
REPEAT ?= 1
FUZZ_CASES ?= 20000
VECTORS ?= tests/vectors
SECONDS ?= 4
LOAD ?= 60
# Test processes: each starts a Spark session of its own (about 2 GB). One more than cores, as many
# tests wait.
JOBS ?= 3
# The seed of the order of files and tests, so that two people run one order; empty: a new one.
ORDER ?= 1648311159

# Without bytecode each program that a test starts compiles its modules again.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r name text; do \
	    printf '  make %-15s %s\n' "$$name" "$$text"; done

# One after another: tested together, a crate would get features that another one asks for.
CRATES := subtrie subtrie-nats subtrie-columns subtrie-trace subtrie-fuzz
CARGO_TEST = for crate in $(CRATES); do cargo test --locked -p $$crate $(1) || exit 1; done

.PHONY: core-tests
core-tests:
	@$(call CARGO_TEST,--no-run --quiet)

demo: ## run the shop on a real nats-server, then audit its trace log with Spark
	@tools/bootstrap demo
	@$(PYTHON) -m examples.shop --seconds $(SECONDS) --out out/demo

test: ## run all tests: the Rust core, then Python on both engines
	@tools/bootstrap test
	@$(call CARGO_TEST)
	$(PYTHON) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder \
	    $(if $(ORDER),--randomly-seed=$(ORDER))

# The grammar, the addresses, the index, permissions, the layers and the words, on both engines: what
# a change is most likely to break, in under a minute.
QUICK := $(addprefix tests/,subjects/test_grammar.py subjects/test_names.py \
    subjects/test_names_productions.py microbus/test_batch.py microbus/test_microbus_decode.py \
    microbus/test_microbus_canonical.py microbus/test_microbus_encode.py \
    microbus/test_microbus_encode_refusals.py microbus/test_microbus_hosts.py \
    microbus/test_microbus_urls.py index/test_dispatcher.py index/test_subscription.py \
    index/test_trie_changes.py index/test_trie_matching.py index/test_trie_questions.py \
    index/test_trie_refusals.py both_engines/test_errors.py command/test_bad_inputs.py \
    package/test_layers.py acl/test_permissions.py acl/test_lint_rules.py \
    acl/test_microbus_rules.py acl/test_load_users.py gencreds/test_receivers.py \
    wire/test_client_protocol.py wire/test_parser_errors.py wire/test_options.py)

.PHONY: quick
quick: ## run the tests that a change is most likely to break, in under a minute
	@tools/bootstrap test
	$(PYTHON) -m pytest -q -n 2 --dist loadfile $(QUICK)

cluster: ## run the tests on a standalone Spark cluster and on Spark Connect
	@tools/bootstrap cluster
	$(PYTHON) -m pytest tests/cluster -m "cluster or not cluster"

LAKES = target/lakes
LAKE_JARS = io.delta:delta-spark_4.1_2.13:4.1.0 io.delta:delta-storage:4.1.0 \
    org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0
lakes: ## run the tests with Delta Lake and Iceberg, on Spark 4.1
	@tools/bootstrap test
	@[ -d $(LAKES)/spark/pyspark ] || $(PYTHON) -m pip install -q --target $(LAKES)/spark pyspark==4.1.4
	@for jar in $(LAKE_JARS); do \
	    mvn -q -B dependency:copy -Dartifact=$$jar -DoutputDirectory=$(abspath $(LAKES)/jars) || exit 1; \
	done
	SUBTRIE_TEST_LAKES=$(abspath $(LAKES)) $(PYTHON) -m pytest tests/cluster/test_lakes.py -m cluster

chaos: ## send requests through a cluster that fails in every way (REQUESTS=1000000 SECONDS=3600 SEED=1)
	@tools/bootstrap test
	PYTHONPATH=.:tests $(PYTHON) -m chaos --requests $(or $(REQUESTS),1000000) --seed $(or $(SEED),1) \
	    --seconds $(if $(filter command line,$(origin SECONDS)),$(SECONDS),3600) $(if $(RECORD),--record)

mutants: ## run mutants of one part against its own tests (PART=algebra COUNT=150 SEED=1 MINUTES=60)
	@tools/bootstrap mutants
	@command -v cargo-mutants >/dev/null || cargo install --locked cargo-mutants --version 27.1.0
	$(PYTHON) tools/mutants.py --part $(or $(PART),algebra) --count $(or $(COUNT),150) \
	    --seed $(or $(SEED),1) --minutes $(or $(MINUTES),60) $(if $(RECORD),--record) \
	    $(if $(RESUME),--resume $(RESUME))

.PHONY: breaks
breaks: ## break the product on purpose, and see that the tests of each row notice it (ROW=S0-040)
	@tools/bootstrap test
	$(PYTHON) tools/breaks.py $(if $(ROW),--row $(ROW)) --jobs $(JOBS) $(if $(RECORD),--record)

check: lint ## check formatting, lints, spelling, wording, types, stubs, documentation
	$(PYTHON) -m pytest -q -n $(JOBS) --dist load tests/repository/test_docs.py

.PHONY: lint check-python check-rust
simulate: ## run connectors in simulated worlds, each from a seed (SEEDS=100000 FIRST=0 FOLDER=)
	@tools/bootstrap test
	PYTHONPATH=.:tests $(PYTHON) -m simulation --seeds $(or $(SEEDS),100000) --first $(or $(FIRST),0) \
	    --jobs $(JOBS) $(if $(FOLDER),--folder $(FOLDER)) $(if $(RECORD),--record)

lint: ## what make check does, without running the pages (make test runs them too)
	@tools/bootstrap check
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-python check-rust

check-python:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m codespell_lib $$(git ls-files)
	$(PYTHON) tools/check_language.py
	$(PYTHON) tools/check_tree.py
	$(PYTHON) -m mypy
	MYPYPATH=python $(PYTHON) -m mypy --explicit-package-bases examples/shop
	tools/stubcheck $(PYTHON)

check-rust:
	cargo fmt --all --check
	@for crate in $(CRATES) subtrie-python; do \
	    cargo clippy --locked --quiet -p $$crate -- -D warnings || exit 1; \
	done
	cargo clippy --locked --workspace --all-targets --features subtrie-python/bench -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --workspace --exclude subtrie-python --no-deps
	$(PYTHON) tools/rust_api.py --check

bench: ## run the benchmarks in Rust and in Python (SIZES=1000,6000 LOAD=60)
	@tools/bootstrap bench
	@$(PYTHON) benches/workload.py --sizes $(if $(SIZES),$(SIZES)$(COMMA))1000,6000 >/dev/null
	cargo bench --locked -p subtrie-benches --bench lookups --bench changes --bench wire
	SIZES=$(or $(SIZES),1000,6000) $(PYTHON) -m pytest benches --benchmark-only
	$(PYTHON) -m benches.connector_speed --load $(LOAD)

bench-peers: ## compare with nats-server's index, paho-mqtt and others (SIZES=1000,6000 BASELINE=dir ROUNDS=2)
	@tools/bootstrap bench
	$(PYTHON) benches/peers --repeat $(REPEAT) $(if $(SIZES),--sizes $(SIZES),--record) \
	    $(if $(BASELINE),--baseline $(BASELINE)) $(if $(ROUNDS),--rounds $(ROUNDS))
	@$(PYTHON) tools/performance_page.py

flows: ## ask a broker 10,000 questions about accounts with exports, imports and mappings (SEED=1)
	@tools/bootstrap test
	PYTHONPATH=.:tests:tests/acl $(PYTHON) tests/acl/flow_questions.py --seed $(or $(SEED),1) --count 10000

deployments: ## ask brokers 10,000 times who may do what, and about 300 changes that matter (SEED=1 RECORD=folder)
	@tools/bootstrap test
	PYTHONPATH=.:tests:tests/acl $(PYTHON) tests/acl/who_questions.py --seed $(or $(SEED),1) --count 10000 \
	    $(if $(RECORD),--record $(RECORD)/who.json)
	PYTHONPATH=.:tests:tests/acl $(PYTHON) tests/acl/change_pairs.py --seed $(or $(SEED),1) --count 300 \
	    $(if $(RECORD),--record $(RECORD)/changes.json)

streams: ## try 2,000 ways to streams as users of a broker, and compare with the model (SEED=1 RECORD=file)
	@tools/bootstrap test
	PYTHONPATH=.:tests:tests/acl $(PYTHON) tests/acl/stream_questions.py --seed $(or $(SEED),1) --count 2000 \
	    $(if $(RECORD),--record $(RECORD))

usage-roles: ## run programs again under what acl usage proposes from their log (RECORD=file)
	@tools/bootstrap test
	PYTHONPATH=.:tests:tests/acl $(PYTHON) tests/acl/usage_roles.py $(if $(RECORD),--record $(RECORD))

fuzz: ## test properties on random inputs (FUZZ_CASES=20000), then run every fuzz target (SECONDS=600)
	@tools/bootstrap fuzz
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --locked --release -p subtrie -p subtrie-nats -p subtrie-columns -p subtrie-trace
	$(PYTHON) tests/cross_engine.py --cases $(CASES) --seed $$(date +%s)
	@tools/fuzz $(SECONDS)

docs: ## build the documentation site into site/ (open site/index.html)
	@tools/bootstrap docs
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet
	@echo "built: site/index.html"

.PHONY: advisories
advisories: ## look up known weaknesses of all dependencies (RUST_DB=folder PYTHON_DB=folder, else fetched)
	@tools/bootstrap test
	$(PYTHON) tools/advisories.py $(if $(RUST_DB),--rust-db $(RUST_DB)) \
	    $(if $(PYTHON_DB),--python-db $(PYTHON_DB))

.PHONY: interleavings
interleavings: ## try every order of the steps of readers, writers and a fork on an index (loom)
	CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-$(CURDIR)/target} cargo test --locked \
	    --manifest-path tests/interleavings/Cargo.toml

.PHONY: attacks
attacks: ## read random variations of every input, within bounds (MINUTES=60 FIRST=1, or KIND=log SEED=7)
	@tools/bootstrap test
	PYTHONPATH=.:tests $(PYTHON) -m attacks --minutes $(or $(MINUTES),10) --first $(or $(FIRST),1) \
	    $(if $(KIND),--kind $(KIND)) $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record)

.PHONY: leaks
leaks: ## change an index and send requests for long, and watch the memory (CHANGES=10000000 REQUESTS=1000000)
	@tools/bootstrap test
	PYTHONPATH=.:tests $(PYTHON) -m leaks --changes $(or $(CHANGES),10000000) \
	    --requests $(or $(REQUESTS),1000000) $(if $(RECORD),--record)

asan-threads: ## run the tests of threads on the native engine under the address sanitizer (needs nightly)
	@tools/bootstrap test
	tools/asan

coverage-table: ## list which requirement has which test
	@tools/bootstrap test
	@$(PYTHON) tests/coverage_table.py

sentences: ## copy the sentences of the core's reasons into the Python table
	@tools/bootstrap check
	@$(PYTHON) tools/core_sentences.py

cross: ## compare both engines on random programs (CASES=1000000 SEED=7 PART=codec)
	@tools/bootstrap test
	$(PYTHON) tests/cross_engine.py --cases $(CASES) $(if $(SEED),--seed $(SEED)) \
	    $(if $(PART),--part $(PART)) $(if $(RECORD),--record)

cross-go: ## compare both engines with nats-server's own index, in Go (CASES=1000000 SEED=7)
	@tools/bootstrap test
	$(PYTHON) tests/cross_go.py --cases $(CASES) $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record)

conformance: ## run the vector files against both engines (VECTORS=path)
	@tools/bootstrap demo
	@status=0; for engine in native reference; do \
	    .venv/bin/subtrie conformance $(VECTORS) --engine $$engine || status=$$?; \
	done; exit $$status

.PHONY: wheel
wheel: ## build the wheel of this machine, and use it in a bare environment
	@tools/bootstrap build
	@tools/bootstrap test
	@rm -rf target/wheel
	.venv/bin/maturin build --quiet --compression-level 9 --release --locked --out target/wheel
	$(PYTHON) -m pytest -q -m wheel tests/wheel/test_built_wheel.py

.PHONY: wheel-twice
wheel-twice: ## build the wheel and the source archive twice, in two folders, and compare their bytes
	@tools/bootstrap build
	$(PYTHON) tools/wheel_twice.py $(if $(RECORD),--record)

wheels: ## build the wheels of every platform into dist/ (TARGETS=x86_64-unknown-linux-gnu)
	@tools/wheels $(TARGETS)

.PHONY: release-check
release-check: ## walk the list of a release: tree, version, changelog, docs, wheels (STEPS="version changelog")
	@tools/bootstrap docs
	@tools/bootstrap test
	@$(PYTHON) tools/release_check.py $(STEPS)

clean: ## delete the environment, build output and the files of the demo
	rm -rf .venv target out build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	    .benchmarks spark-warehouse metastore_db derby.log python/subtrie/_subtrie*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
