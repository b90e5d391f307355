# SPDX-License-Identifier: Apache-2.0
# Every target works from a fresh clone on Linux with Go; what else a target needs it installs or says.

SHELL      := /usr/bin/env bash -euo pipefail
BIN        := bin
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT     ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DATE       ?= $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
PKG        := github.com/kubectl-scylla/kubectl-scylla
LDFLAGS    := -s -w -X $(PKG)/internal/base/version.version=$(VERSION) -X $(PKG)/internal/base/version.commit=$(COMMIT) -X $(PKG)/internal/base/version.date=$(DATE)
GOBUILD    := go build -ldflags='$(LDFLAGS)'
FUZZ_TIME  ?= 10s
BENCH_TIME ?= 0.2s
DEMO       ?=
BUDGET     ?= 45m
TEST_FLAGS ?=
SEEDS      ?= 2000
SOAK       ?= 1h

# One way to compile for every target (and .goreleaser.yaml, and test/cluster/image), so that a bare machine compiles Kubernetes' packages once
# and once more with the race detector. 4 MB of the plugin would be inlined copies of their functions, which wait for the network anyway;
# ours stay inlined.
export GOFLAGS     += -trimpath -gcflags=k8s.io/...=-l -gcflags=sigs.k8s.io/...=-l -gcflags=google.golang.org/protobuf/...=-l -gcflags=github.com/google/gnostic-models/...=-l
export CGO_ENABLED := 0

# Tools, pinned; run through the module proxy, never installed into the system.
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0
ACTIONLINT     := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.8
GOVULNCHECK    := golang.org/x/vuln/cmd/govulncheck@v1.1.4

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "; print "kubectl-scylla: make TARGET\n"} /^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build kubectl-scylla and scylla-agent into bin/
	@mkdir -p $(BIN)
	$(GOBUILD) -o $(BIN)/kubectl-scylla ./cmd/kubectl-scylla
	$(GOBUILD) -o $(BIN)/scylla-agent ./cmd/scylla-agent

.PHONY: prerequisites
prerequisites: ## Install what real Kubernetes nodes need (Debian, root); no-op when it is there
	@test/cluster/install-prerequisites.sh

.PHONY: demo
demo: ## Three real Kubernetes nodes, simulated ScyllaDB, the whole story (DEMO=once, DEMO=unguarded)
	@echo "make demo: 7 to 15 minutes the first time on 2 idle cores, 2 minutes later"
	@test/cluster/install-prerequisites.sh
	@go run ./test/e2e/demo/first
	@go run ./test/e2e/demo $(DEMO)

.PHONY: test
test: ## The gate: unit tests, a real API server, the story of the demo, and chosen end-to-end tests (stops after BUDGET=45m)
	@test/cluster/install-prerequisites.sh --tests --best-effort
	@go run ./test/run test -budget=$(BUDGET) $(TEST_FLAGS)

.PHONY: proof
proof: ## All that takes longer, each unit until it has passed as it is now (FOR=30m stops after that, ONLY=REGEXP)
	@test/cluster/install-prerequisites.sh --tests --best-effort
	@go run ./test/run proof $(if $(FOR),-for=$(FOR)) $(if $(ONLY),-only='$(ONLY)')

.PHONY: proof-record
proof-record: ## Add the results of make proof to test/run/proof/ledger.jsonl
	@go run ./test/run record

.PHONY: steady
steady: ## The tests of changed packages 20 times on a quarter of a core (PACKAGES="internal/matrix ...")
	@go run ./test/run steady $(PACKAGES)

.PHONY: mutants
mutants: ## Planted bugs; a test must find each of them
	@go run ./test/run/mutants
	@go run ./test/run/mutants -tables=test/run/mutants/gate.txt

.PHONY: seeds-proof
seeds-proof: ## One planted bug against each statement of docs/reference/seeds.md; a test of that statement must find it
	@go run ./test/run/mutants -rows -tables=test/run/mutants/seeds.txt

.PHONY: rehearse
rehearse: ## Deliberate failures in real Pods, measured against documented times and written to docs/internals.md
	@test/cluster/install-prerequisites.sh
	go test ./test/e2e -count=1 -timeout 60m -run '^TestRehearsals$$' -v -rehearse -measured=testdata/rehearsals.json -series=../house/monitoring/testdata/recorded
	go run ./cmd/gen

.PHONY: soak
soak: ## An hour of flapping nodes, crashes, joins and replacements among 60 Pods, drawn to docs/pictures/soak.svg (SOAK=1h)
	@test/cluster/install-prerequisites.sh
	go test ./test/e2e -count=1 -timeout 3h -run '^TestSoak$$' -v -soak=$(SOAK) -soak-page=../../docs/pictures/soak.svg

.PHONY: simulation
simulation: ## 2,000 seeds of kills, partitions, lost disks and messages against the decisions, by each of policy permits and reports (SEEDS=n)
	go test ./test/simulation -count=1 -timeout 3h -run 'TestSeeds$$' -v -seeds=$(SEEDS)

.PHONY: real
real: ## Record a real ScyllaDB by docker, podman or kubectl, see docs/real.md (IMAGE=docker.io/scylladb/scylla:2026.2, ENGINE, FILE)
	@go run ./test/real/record -image=$(IMAGE) $(if $(ENGINE),-engine=$(ENGINE)) $(if $(FILE),-o=$(FILE))

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZ_TIME (default 10s)
	@for pkg in $$(go list ./internal/... ./controller/... ./plugin/...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$f"; go test -run "^$$" -fuzz "^$$f$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x $$pkg; \
	  done; done

.PHONY: bench
bench: ## Benchmarks with allocations, in one table, and docs/performance.md of them, on an idle machine
	@go run ./test/run/bench -benchtime $(BENCH_TIME) -write

.PHONY: bench-compare
bench-compare: ## Benchmarks of a commit and of these files in turn; fails where one is more than 20 % worse (BASE=COMMIT)
	@test -n "$(BASE)" || { echo "make bench-compare needs BASE, the commit to compare with"; exit 2; }
	@go run ./test/run/bench -benchtime $(BENCH_TIME) -base "$(BASE)"

# Built once into the user's cache, for each version of it and of Go: compiling it takes longer than running it.
TOOLS         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kubectl-scylla
GOVERSION     := $(shell go env GOVERSION)
LINT_VERSION  := v2.13.1
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(LINT_VERSION)-$(GOVERSION)/golangci-lint
GORELEASER    := $(TOOLS)/goreleaser-v2.16.0-$(GOVERSION)/goreleaser
SYFT          := $(TOOLS)/syft-v1.57.1-$(GOVERSION)/syft

$(GOLANGCI_LINT):
	GOBIN=$(@D) go install -ldflags='-s -w' github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

$(GORELEASER):
	GOBIN=$(@D) go install -ldflags='-s -w' github.com/goreleaser/goreleaser/v2@v2.16.0

$(SYFT):
	GOBIN=$(@D) go install -ldflags='-s -w' github.com/anchore/syft/cmd/syft@v1.57.1

.PHONY: lint
lint: $(GOLANGCI_LINT) ## golangci-lint, and actionlint for the workflows, pinned
	$(GOLANGCI_LINT) run --allow-parallel-runners
	$(ACTIONLINT)

.PHONY: fmt
fmt: ## Format all Go code
	gofmt -s -w cmd internal plugin controller test

.PHONY: gen
gen: ## Generate CRDs, deep copies, completions, the pages that are made from the source, and man pages in dist/
	$(CONTROLLER_GEN) object:headerFile=/dev/null crd:crdVersions=v1 paths=./internal/api output:crd:dir=internal/api/crds output:object:dir=internal/api
	go run ./cmd/gen

.PHONY: samples
samples: ## Regenerate docs/samples from simulated clusters
	go test -count=1 ./test/run/samples -update

.PHONY: pictures
pictures: samples ## Regenerate docs/pictures from the samples (needs Chromium)
	go test -count=1 ./test/run/pictures -update

.PHONY: verify
verify: ## Fail when generated files, formatting or modules differ from what is committed (go vet is part of lint)
	@test -z "$$(gofmt -s -l cmd internal plugin controller test)" || { echo "gofmt differs: run make fmt"; gofmt -s -l cmd internal plugin controller test; exit 1; }
	go mod tidy -diff
	go mod verify
	@$(MAKE) --no-print-directory gen
	@git diff --exit-code -- go.mod go.sum internal/api docs/*.md docs/reference docs/install completions || { echo "generated files differ: run make gen and commit"; exit 1; }
	@test -z "$$(git status --porcelain -- internal/api docs/*.md docs/reference docs/install completions)" || { echo "generated files are not committed"; exit 1; }

.PHONY: size
size: build ## Binary sizes, start-up time and template symbols against the budget
	@go run ./test/house/size

.PHONY: image
image: ## Write bin/scylla-agent.tar and bin/scylla-*.tar, OCI archives without Docker
	@go run ./test/e2e/images/cmd/build-images -o $(BIN)

.PHONY: snapshot
snapshot: $(GORELEASER) $(SYFT) ## What a release has, in dist/release; without images if no Docker runs, and without signatures
	$(GORELEASER) check
	PATH="$(dir $(SYFT)):$$PATH" $(GORELEASER) release --snapshot --clean --skip=sign$(shell docker info >/dev/null 2>&1 || echo ,docker)
	@# goreleaser only warns about what it cannot find.
	@cd dist/release && tar -xzOf kubectl-scylla-*.tgz kubectl-scylla/Chart.yaml kubectl-scylla/templates/crds.yaml >/dev/null && \
	  ls checksums.txt krew/scylla.yaml homebrew/Casks/kubectl-scylla.rb *.tgz *.tar.gz *.zip *.spdx.json

.PHONY: release
release: $(GORELEASER) $(SYFT) ## Release the tag that is checked out, signed by cosign (AGENT_IMAGE=REPOSITORY of scylla-agent's image; GITHUB_TOKEN)
	@test -n "$(AGENT_IMAGE)" || { echo "make release needs AGENT_IMAGE, the repository that the image is pushed to"; exit 2; }
	@for tool in docker cosign; do command -v $$tool >/dev/null || { echo "make release needs $$tool on PATH"; exit 2; }; done
	PATH="$(dir $(SYFT)):$$PATH" $(GORELEASER) release --clean

.PHONY: vuln
vuln: ## Known vulnerabilities in the linked modules; skipped with a message if their database cannot be reached
	@mkdir -p $(BIN)
	@GOBIN=$(CURDIR)/$(BIN) go install $(GOVULNCHECK)
	@status=0; $(BIN)/govulncheck ./... >$(BIN)/vuln.txt 2>&1 || status=$$?; tail -n 40 $(BIN)/vuln.txt; \
	if [ $$status -eq 0 ]; then exit 0; fi; \
	if grep -q '^govulncheck: fetching vulnerabilities: ' $(BIN)/vuln.txt; then echo "SKIPPED: the database of vulnerabilities cannot be reached, so nothing was checked"; exit 0; fi; \
	exit $$status

.PHONY: clean
clean: ## Remove bin/ and dist/
	rm -rf $(BIN) dist
