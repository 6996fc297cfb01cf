# `make help` lists the targets. All but deps work without special rights.

GO        ?= go
PACKAGES  ?= ./...
TIMEOUT   ?= 15m
FUZZTIME  ?= 10s
ARGS      ?= -write docs/performance.md
DURATION  ?= 2m
SEED      ?= 0
WORK      ?= all
OP        ?= lock

# Where `make chaos` puts its program.
CHAOS := $(or $(TMPDIR),/tmp)/troupe-chaos-program

# Where `make bench-peers` puts its program.
PEERS := $(or $(TMPDIR),/tmp)/troupe-peers-program

# Where `make growth` puts its program.
GROWTH := $(or $(TMPDIR),/tmp)/troupe-growth-program

# The tests in memory that depend on the version of ZooKeeper: reading without the right to, several operations in one, containers, removing watches.
VERSIONED    := Unread|MayNotBeRead|Multi|Contain|Ensure|Removal|Check|Auth|ACL|Follow|TheFirstView
VERSIONED_IN := ./session ./recipes/internal/contenders ./recipes/internal/presence ./recipes/election ./recipes/fence ./recipes/group ./recipes/lock

# The packages with goroutines of their own, for the race detector.
RACED := ./session ./recipe ./actors ./internal/notify ./recipes/lock ./recipes/election ./recipes/queue ./recipes/barrier ./recipes/twopc ./test/losses

# Without paths in binaries, several copies of the repository share the cache of compiled packages.
TEST := $(GO) test -trimpath -count=1 -timeout $(TIMEOUT)

# The tools have a module of their own, so that their dependencies are not ours.
TOOL := $(GO) tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help deps build test test-real race mutants soak check lint manifests alerts chaos chaos-check fuzz apidiff bench-peers growth benchstat cover house way tidy docs screenshots

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install ZooKeeper, the clients of others, a browser and promtool for the tests, if they are missing (Debian's packages; root or sudo); fetch the modules of make manifests
	@tools/deps
	cd test/deploy && $(GO) mod download

build: ## compile and vet everything
	$(GO) build ./...
	$(GO) vet ./...

test: ## the gate: all tests that need Go alone, the same every time; three minutes
	CGO_ENABLED=0 $(TEST) $(PACKAGES)

test-real: ## tests on real ZooKeeper, with processes and the clients of others, one after the other: FOLDERS="recipes/lock"
	@GO="$(GO)" TROUPE_TIER=real TIMEOUT=$(TIMEOUT) tools/test-real $(FOLDERS)

race: ## the gate's tests with the race detector (it needs a C compiler): RACED=./actors FLAGS="-shuffle on -count 10"
	CGO_ENABLED=1 $(TEST) -race $(FLAGS) $(RACED)

mutants: ## break the code on purpose, in one place after the other: the gate's tests must notice; before tests are deleted (ONLY="bell")
	$(GO) run ./test/mutants $(if $(ONLY),"$(ONLY)")

soak: ## everything, with random seeds, for MINUTES=60 or more (TROUPE_SEED=N: first with that one; PARTS="tests fuzz chaos random"); by hand and by night, never a gate
	@GO="$(GO)" MAKE="$(MAKE)" VERSIONED='$(VERSIONED)' VERSIONED_IN="$(VERSIONED_IN)" tools/soak

check: build lint ## between two edits: vet, lint, and the gate's tests, those that have passed already left out
	CGO_ENABLED=0 $(GO) test -trimpath -timeout $(TIMEOUT) $(PACKAGES)

lint: ## check style, mistakes and the import rules (.golangci.yml); the first run compiles the linter
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	cd test/deploy && $(GO) tool -modfile=../../tools/go.mod golangci-lint run --allow-parallel-runners ./...

manifests: ## check the files of deploy/: decoded strictly, manifests into Kubernetes' types, and compared with the example; nothing is started
	cd test/deploy && $(GO) test -trimpath -count=1 ./...

alerts: ## test the rules of deploy/prometheus on series that must alarm, and on some that must not; promtool does (make deps)
	tools/promtool check rules deploy/prometheus/alerts.yml
	tools/promtool test rules deploy/prometheus/alerts_test.yml

chaos: ## real servers and worker processes under random faults: DURATION=2m SEED=0 (random) WORK=all REPORT=file
	$(GO) test -tags chaos -run Swallowed ./test/chaos
	$(GO) build -tags chaos -o $(CHAOS) ./test/chaos
	$(CHAOS) -duration $(DURATION) -seed $(SEED) -work $(WORK) $(if $(REPORT),-report $(REPORT))

chaos-check: ## check the checker of `make chaos`: two of the mutants must be caught
	@GO="$(GO)" tools/chaos-check

fuzz: ## run every fuzz target for a while: FUZZTIME=10s
	@tools/fuzz $(FUZZTIME)

apidiff: ## what has changed for those who import a package since the last tag; what breaks their code needs a row in the changelog (SINCE=commit)
	@GO="$(GO)" tools/apidiff $(SINCE)

bench-peers: ## measure beside raw requests, go-zookeeper, Curator and kazoo on real servers, a quarter of an hour: ARGS="-rows handover -rounds 3 -servers 1"
	$(GO) build -o $(PEERS) ./bench/peers
	$(PEERS) $(ARGS)

growth: ## measure what operations cost as the work grows, and draw it; ten minutes: ARGS="-only queue,parties -divide 2"
	$(GO) build -o $(GROWTH) ./test/growth
	$(GROWTH) $(ARGS)

benchstat: ## compare two outputs of `go test -bench`: OLD=old.out NEW=new.out
	$(TOOL) benchstat $(OLD) $(NEW)

cover: ## run all tests and show what they cover, in coverage.txt and in sum
	$(GO) test -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=coverage.txt $(PACKAGES)
	@$(GO) tool cover -func=coverage.txt | tail -1

house: ## hold the source to its budgets: lines of each part, what a program with a lock links, types on the way of a lock, methods of a type, imports that run upwards, names that are to go, the page of licences
	$(GO) run ./test/house
	@GO="$(GO)" tools/licences check

way: ## print the functions that an operation runs, from each request, reply and event to the next: OP=lock, watch, config, election or item
	@$(GO) run ./test/house -way $(OP)

screenshots: ## write the pictures of the page of package debug into docs (it needs a browser)
	TROUPE_TIER=real $(TEST) -run Screenshots ./debug -redraw

tidy: ## bring go.mod and the formatting into order
	$(GO) mod tidy
	cd tools && $(GO) mod tidy
	cd test/deploy && $(GO) mod tidy
	$(TOOL) golangci-lint fmt ./...

docs: ## read the documentation in a browser
	$(GO) doc -http
