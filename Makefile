# `make help` lists what there is. Everything but deps works without rights.

GO        ?= go
PACKAGES  ?= ./...
TIMEOUT   ?= 15m
FUZZTIME  ?= 10s
COUNT     ?= 6
BENCH     ?= .
BENCHTIME ?= 1s
DURATION  ?= 2m
SEED      ?= 0
WORK      ?= all

# Where `make chaos` puts its program.
CHAOS := $(or $(TMPDIR),/tmp)/troupe-chaos-program

# What depends on the version of ZooKeeper, for servers in memory: reading without the right to, several operations in one, containers, removing watches.
VERSIONED    := Unread|MayNotBeRead|Birth|Multi|Contain|Ensure|Removal|Unwatch|GivenBack|Check|Auth|ACL|Follow|TheFirstView
VERSIONED_IN := ./session ./recipes/internal/contenders ./recipes/internal/presence ./recipes/election ./recipes/fence ./recipes/group ./recipes/lock

# The race detector needs a C compiler.
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
RACE     := $(if $(CC_FOUND),-race)

# The tools have a module of their own, so that their dependencies are not ours.
TOOL := $(GO) tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help deps build test check race lint chaos chaos-check fuzz bench benchstat cover house tidy docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install ZooKeeper and the clients of others for the tests, if they are missing (Debian's packages; root or sudo)
	@tools/deps

build: ## compile and vet everything
	$(GO) build ./...
	$(GO) vet ./...

test: ## run all tests, with the race detector if there is a C compiler; CI=true fails without ZooKeeper or the clients of others
	@missing=$$($(GO) run ./zktest/ensemble/available && $(GO) run ./interop/available) && { [ -z "$$missing" ] || { echo "$$missing"; [ "$$CI" != true ]; }; }
	@$(if $(RACE),:,echo "the race detector is left out: no C compiler; install gcc")
	CGO_ENABLED=$(if $(RACE),1,0) $(GO) test $(RACE) -timeout $(TIMEOUT) $(PACKAGES)
	for version in 3.8.0 3.8.4 3.9.2; do ZKTEST_VERSION=$$version $(GO) test -run '$(VERSIONED)' -skip 'Real|Ensemble' $(VERSIONED_IN) || exit 1; done
	$(GO) test -run Schedules ./recipes/internal/contend/... -recipetest.schedules=100000
	$(GO) test -run Schedules ./recipes/twopc/internal/protocol
	$(GO) test -run '^TestDifferential$$' -v ./zktest -diff.ops=200000
	$(if $(filter true,$(CI)),$(MAKE) chaos,:)
	$(GO) test -run AMillionZnodes ./internal/zkserver -scale.znodes=1000000

check: build lint ## between two edits: vet, lint, and the tests that need no real ZooKeeper, without the race detector
	$(GO) test -short -timeout $(TIMEOUT) $(PACKAGES)

race: ## run all tests many times in random order with the race detector: PACKAGES=./actors TIMEOUT=1h
	CGO_ENABLED=1 $(GO) test -race -shuffle on -count 10 -timeout $(TIMEOUT) $(PACKAGES)

lint: ## check style, mistakes and the import rules (.golangci.yml); the first run compiles the linter
	$(TOOL) golangci-lint run ./...

chaos: ## real servers and worker processes under random faults: DURATION=2m SEED=0 (random) WORK=all REPORT=file
	$(GO) test -tags chaos -run Swallowed ./test/chaos
	$(GO) build -tags chaos -o $(CHAOS) ./test/chaos
	$(CHAOS) -duration $(DURATION) -seed $(SEED) -work $(WORK) $(if $(REPORT),-report $(REPORT))

chaos-check: ## check the checker of `make chaos`: builds that are broken on purpose, and another library's lock, must be caught
	@GO="$(GO)" tools/chaos-check

fuzz: ## run every fuzz target for a while: FUZZTIME=10s
	@tools/fuzz $(FUZZTIME)

bench: ## run the benchmarks on a real server, in benchstat's form: BENCH=. COUNT=6 BENCHTIME=1s
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) -timeout 1h ./bench

benchstat: ## compare two outputs of `make bench`: OLD=old.out NEW=new.out
	$(TOOL) benchstat $(OLD) $(NEW)

cover: ## run all tests and show what they cover, in coverage.txt and in sum
	$(GO) test -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=coverage.txt $(PACKAGES)
	@$(GO) tool cover -func=coverage.txt | tail -1

house: ## measure the source: lines, types, arrows between folders, the ways of two operations
	$(GO) run ./test/house

tidy: ## bring go.mod and the formatting into order
	$(GO) mod tidy
	cd tools && $(GO) mod tidy
	$(TOOL) golangci-lint fmt ./...

docs: ## read the documentation in a browser
	$(GO) doc -http
