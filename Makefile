# The two commands of the README, and what CI runs on top of them.
GO ?= go
# What stands in front of a pipe counts, too.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: run test race build check fuzz bench bench-peers soak generate profiles recording

# run starts the gate over this folder on loopback, with the defaults that
# `sallyport init` would write. No service and no configuration is needed. The commands
# that it proposes name the program that it has built.
run: build
	bin/sallyport serve

# test runs every test that needs no service, and prints at its end the slowest
# tests and how many ran. Many tests wait for another process, so that more of
# them run at once than there are processors. The settings are those of build, so
# that the program that tests start is made of the packages that they are made of.
# PKGS=./audit tests one package. The longest come first. No debugger reads the
# binaries of tests, so that they are linked without what it would need.
PKGS ?= ./internal/command ./sandbox ./tools/database ./tools/browser ./...
test: ATONCE ?= -p 3 -parallel 3
# A test that fails beside others is run three times more, alone, and printed as
# unstable when it passes each time; SUMFLAGS= leaves that out.
SUMFLAGS ?= -again 3
test: export CGO_ENABLED = 0
test:
	{ $(GO) test -trimpath -ldflags='-s -w' -json -shuffle=on $(ATONCE) -timeout 20m $(TESTFLAGS) $(PKGS) || echo '{"Action":"failed"}'; } | $(GO) run ./.ci/testsum $(SUMFLAGS) -- $(GO) test -trimpath -ldflags='-s -w' $(TESTFLAGS)

# race runs the same tests with the race detector, which takes four times as
# long; SALLYPORT_TEST_RACE_CHILDREN=1 gives it to the program that they start,
# too. A program with the race detector sleeps for a second at its end unless it
# is told not to. Fewer run at once, since each needs more of the processors, and
# servers that they start have to answer in time.
race: export GORACE = atexit_sleep_ms=20
race:
	@$(MAKE) test CGO_ENABLED=1 ATONCE='-p 2 -parallel 2' TESTFLAGS='-race $(TESTFLAGS)'

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/sallyport ./cmd/sallyport

# check is what a commit must pass beside the tests.
check:
	@test -z "$$($(GO) run mvdan.cc/gofumpt@v0.12.0 -l .)" || { $(GO) run mvdan.cc/gofumpt@v0.12.0 -l .; echo 'gofumpt would change the files above'; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	$(GO) test ./.ci/testsum
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

# generate rewrites the reference pages from the source.
generate:
	$(GO) generate ./...

# profiles starts the known servers of npm through the gate, which takes minutes
# and the network, and writes what it finds into docs/reference/profiles.md.
# PROFILES=memory,git starts these alone.
PROFILES ?= all
profiles:
	SALLYPORT_TEST_PROFILES=$(PROFILES) $(GO) test -count=1 -timeout 2h -v -run '^TestStartProfiles$$' ./internal/command

# recording runs the quick start, with servers from npm, and draws what its
# commands print into docs/start/first-run.svg, the picture of README.md.
recording:
	SALLYPORT_TEST_RECORD=1 SALLYPORT_TEST_NPX=1 $(GO) test -count=1 -run '^TestStartPages$$/^quick-start.md$$' ./internal/command

# bench prints the figures of docs/performance.md.
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# bench-peers measures the program beside its peers, in turns, and prints the
# first table of docs/performance.md. ONLY='^http' measures some of it, and
# BENCHFLAGS=-write writes the table.
bench-peers:
	cd bench/peers && CGO_ENABLED=0 $(GO) run . $(if $(ONLY),-only '$(ONLY)') $(BENCHFLAGS)

# soak keeps the program under half of its load for FOR, and fails when something
# grew.
FOR ?= 30m
soak:
	cd bench/peers && CGO_ENABLED=0 $(GO) run . -soak $(FOR) $(BENCHFLAGS)

# fuzz gives each fuzz target a short run; .ci/fuzz says how long.
fuzz:
	.ci/fuzz
