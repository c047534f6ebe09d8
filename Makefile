# Every target has a help text: `make` or `make help` prints them.

.DEFAULT_GOAL := help
.PHONY: help run cluster test pictures torture lint bench

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the service in development mode, everything embedded, data in ./data
	cargo run --release -- serve --dev

cluster: ## Run two nodes with PostgreSQL, Redis and HAProxy on this machine, to be tried out
	./tools/cluster

test: ## Run every test; needs a Rust toolchain and a C compiler, and installs Chromium, PostgreSQL, Redis, two proxies, oathtool, schemathesis and axe-core when they are missing
	./tools/chromium
	./tools/services
	./tools/schemathesis
	./tools/axe
	cargo test --workspace

pictures: ## Put what the last tests saw into the README: copies its pictures from target/pictures to docs/pictures
	./tools/pictures

torture: ## Kill the real process 300 times under load, end 10 000 sessions while Redis breaks, and compare response times (several minutes)
	./tools/services
	TORTURE_KILLS=300 cargo test --release -p deskpass --test acceptance durability -- --nocapture
	TORTURE_LOGOUTS=10000 cargo test --release -p deskpass --test acceptance a_logout_counts_everywhere -- --nocapture
	cargo test --release -p deskpass --test acceptance all_names_take_the_same_time -- --ignored --nocapture

lint: ## Check format, lints, documentation and dependencies
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items
	./tools/deny

bench: ## Measure speed and memory beside the least that could do the same; writes bench/RESULTS.md; installs PostgreSQL and Redis when missing
	./tools/services
	cargo build --release -p deskpass -p deskpass-bench
	./target/release/deskpass-bench
