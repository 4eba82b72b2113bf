# The two commands of the README, and what CI runs on top of them.
GO ?= go

.PHONY: run test build check fuzz bench generate

# run starts the gate over this folder on loopback, with the defaults that
# `sallyport init` would write. No service and no configuration is needed.
run:
	$(GO) run ./cmd/sallyport serve

# test runs every test that needs no service. A program with the race detector
# sleeps for a second at its end unless it is told not to, and the tests run
# hundreds of them.
test: export GORACE = atexit_sleep_ms=20
test:
	$(GO) test -race -shuffle=on -timeout 40m ./...

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/sallyport ./cmd/sallyport

# check is what a commit must pass beside the tests.
check:
	@test -z "$$($(GO) run mvdan.cc/gofumpt@v0.12.0 -l .)" || { $(GO) run mvdan.cc/gofumpt@v0.12.0 -l .; echo 'gofumpt would change the files above'; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...

# generate rewrites the reference pages from the source.
generate:
	$(GO) generate ./...

# bench prints the figures of docs/performance.md.
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# fuzz gives each fuzz target a short run: FUZZTIME is a time, or a number of
# inputs such as 2000x, which ends the same on a slow machine.
fuzz:
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-10s} -fuzzminimizetime 10x $$p || exit 1; \
	  done; done
