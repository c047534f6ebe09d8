# Every target has a help text: `make` or `make help` prints them.

.DEFAULT_GOAL := help
.PHONY: help run cluster test tested tools clippy doc pictures torture lint bench scale dist

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the service in development mode, everything embedded, data in ./data
	cargo run -- serve --dev

cluster: ## Run two nodes with PostgreSQL, Redis and HAProxy on this machine, to be tried out
	./tools/cluster

# The tests write much and keep nothing: in memory, where there is room for it.
memory := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 { print "/dev/shm" }')
# More tests at once than processors, since tests also wait; many more would run into the timeouts of the services.
threads := $(shell echo $$(($$(nproc 2>/dev/null || echo 2) * 3 / 2)))

test: ## Run every test, and check format, lints, documentation and dependencies; needs a Rust toolchain and a C compiler, and installs Chromium, PostgreSQL, Redis, two proxies, oathtool, systemd, schemathesis, an OpenAPI validator, a client generator, SDKs of the platforms, axe-core and programs that sign users in with OpenID Connect when they are missing
	cargo fmt --all --check
	./tools/deny
	$(MAKE) --no-print-directory -j2 tested tools
	TMPDIR=$(or $(memory),$(TMPDIR),/tmp) RUST_TEST_THREADS=$(or $(RUST_TEST_THREADS),$(threads)) cargo test --workspace
	$(MAKE) --no-print-directory clippy doc

# What `make test` runs, built. The processors are busy with it while the network installs the tools.
tested:
	cargo test --workspace --no-run

tools:
	./tools/chromium
	./tools/services
	./tools/schemathesis
	./tools/openapi
	./tools/sdks
	./tools/axe
	./tools/relying-parties
	./tools/request-tracker

clippy:
	cargo clippy --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

pictures: ## Put what the last tests saw into the README: copies its pictures from target/pictures to docs/pictures
	./tools/pictures

torture: ## Use three nodes at random for 10 minutes (TORTURE_SECONDS) while nodes, networks, servers and clocks fail, and check the histories; kill the real process 300 times under load, end 10 000 sessions while Redis breaks, race by the thousand, run nodes of the previous release beside new ones, measure the memory of 5 000 slow clients, and compare response times (many minutes)
	./tools/services
	TORTURE_SECONDS=$(or $(TORTURE_SECONDS),600) cargo test --release -p deskpass --test acceptance torture::histories -- --nocapture
	TORTURE_KILLS=300 cargo test --release -p deskpass --test acceptance durability -- --nocapture
	TORTURE_LOGOUTS=10000 cargo test --release -p deskpass --test acceptance a_logout_counts_everywhere -- --nocapture
	TORTURE=1 cargo test --release -p deskpass --test acceptance -- key_rotation races cluster disabled outages of_two reference kept_apart a_herd reload:: cli_backup
	cargo test --release -p deskpass --test acceptance all_names_take_the_same_time -- --ignored --nocapture
	cargo test --release -p deskpass --test acceptance upgrade::under_load -- --ignored --nocapture
	cargo test --release -p deskpass --test acceptance bodies::of_five_thousand -- --nocapture
	PREVIOUS_RELEASE=$$(./tools/previous) cargo test --release -p deskpass --test acceptance upgrade::beside -- --ignored --nocapture

lint: clippy doc ## Check format, lints, documentation and dependencies
	cargo fmt --all --check
	./tools/deny

bench: ## Measure speed and memory beside the least that could do the same, as it is delivered (profile dist, some 25 minutes); `make bench scale`: instead, a morning on which all sign in, ten nodes and stores with 30 million rows (45 minutes or more, 30 GB of disk); writes bench/RESULTS.md; installs PostgreSQL and Redis when missing
	./tools/services
	cargo build --profile dist -p deskpass -p deskpass-bench
	$(or $(CARGO_TARGET_DIR),target)/dist/deskpass-bench $(filter scale,$(MAKECMDGOALS))

# A word after `bench`, and no work of its own.
scale:
	@$(if $(filter bench,$(MAKECMDGOALS)),:,echo 'make: it is `make bench scale`' >&2; exit 2)

dist: ## Build what is released into dist/: Debian package, tarball, OCI image, symbols, SBOM and checksums (needs dpkg-deb and Python 3)
	./tools/dist
