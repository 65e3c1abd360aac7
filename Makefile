# Northwall. `make help` lists the targets.

VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)
BIN     := bin
PREFIX  ?= /usr/local
SHARED  ?= ../shared
OVN_ROOT ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/northwall/ovn
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build run test lint golden oracle bench install clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1: /p' $(MAKEFILE_LIST)

build: ## build northwalld and nwctl into bin/
	go build -ldflags '-X main.version=$(VERSION)' -o $(BIN)/ ./cmd/...

run: build ## start with databases of its own, apply the example, print the flows, stay until Ctrl-C
	tests/install.sh
	tests/run.sh $(BIN) $(DIR)

test: ## install what the tests need, run them, and list those that were skipped
	tests/install.sh test
	go run ./tests/gotest -race -timeout 20m ./...

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt: the files above are not formatted" >&2; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

golden: build ## the shared scenarios, through stock OVN databases in OVN_ROOT
	OVN_ROOT=$(OVN_ROOT) tests/golden.sh $(SHARED) $(abspath $(BIN))/northwalld

takeover: ## restarts, and taking over from the stock northd in OVN_ROOT and back, on every scenario
	cd tests/takeover && NORTHWALL_SHARED=$(abspath $(SHARED)) OVN_ROOT=$(OVN_ROOT) go test -count=1 -report

STEPS ?= 100
SEED ?= 1
SEEDS ?= 20
oracle: ## SEEDS runs of STEPS random edits beside the stock northd in OVN_ROOT, compared after each
	OVN_ROOT=$(OVN_ROOT) go test ./tests/oracle -run Oracle -steps $(STEPS) -seed $(SEED) -seeds $(SEEDS) -v -timeout 2h

BENCH_SIZES ?= 2k,25k,100k
BENCH_OUT ?= $(BIN)/bench
bench: build ## edits, starts and memory beside the floor and the stock northd in OVN_ROOT, at BENCH_SIZES (2k,25k,100k); tables and picture in BENCH_OUT.md and .svg
	tests/install.sh
	go build -o $(BIN)/bench ./tests/bench
	$(BIN)/bench -sizes $(BENCH_SIZES) -northwalld $(BIN)/northwalld -ovn-root $(OVN_ROOT) -out $(BENCH_OUT)

EDITS ?= 20500
faults: ## some EDITS edits while servers, connections, disks and clocks fail; prints the table of docs/reliability.md
	tests/install.sh test
	go test ./tests/e2e -run Faults -edits $(EDITS) -long -v -timeout 2h

FUZZTIME ?= 5m
FUZZ ?= ./northd:FuzzNorthbound ./ovsdb:FuzzSession ./ovsdb:FuzzDecoder ./ovsdb:FuzzResults ./ovsdb/unixctl:FuzzServer \
	./acl/expr:FuzzParse ./acl/expr:FuzzLexer ./acl/expr:FuzzAddressSet ./flows:FuzzQuote ./northd/engine:FuzzIncrementalEqualsFresh
fuzz: ## fuzz each target for FUZZTIME, or those that FUZZ lists; inputs that fail are kept in testdata/fuzz
	@for t in $(FUZZ); do \
		echo "$${t#*:} in $${t%%:*}"; \
		go test $${t%%:*} -run '^$$' -fuzz "^$${t#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x || exit 1; \
	done

install: build ## install the programs into PREFIX/bin, and a systemd unit
	install -d $(DESTDIR)$(PREFIX)/bin
	install $(BIN)/northwalld $(BIN)/nwctl $(DESTDIR)$(PREFIX)/bin/
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,/usr/local,$(PREFIX),' systemd/northwalld.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/northwalld.service

clean: ## remove what was built
	rm -rf $(BIN)
