# Everything that people and CI run. It needs GNU make, Go and a Python from
# 3.10 to 3.13; what else it uses it installs into this folder, at the versions
# pinned in tools/go.mod, internal/pyenv/bootstrap.lock and train/*.lock.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # the steps of check and test run in the order they are written
# Python that may not keep bytecode imports Ray and PyTorch in twice the time.
unexport PYTHONDONTWRITEBYTECODE

FUZZTIME ?= 20s
# The first Python on this machine that runs, has the right version and can
# make virtual environments; PYTHON=... on the command line chooses another.
PYTHON = $(shell for p in python3.12 python3.11 python3.13 python3.10 python3; do \
	$$p -c 'import ensurepip, sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' \
	2>/dev/null && echo $$p && break; done)

module  := github.com/trainyard/trainyard
# Empty outside a git checkout: the program then reads Go's own build information.
version := $(shell git describe --tags --always --dirty 2>/dev/null)
shell_scripts = .ci/run $(shell git ls-files -co --exclude-standard '*.sh')

# Seen from train, whose pyproject.toml says how Python is to be.
py_code := . ../bench/train ../examples/python ../test/awssim

# The packages with tests that need a real Ray, or a real Kubernetes, are those
# whose tests look for the variables by which test/withray tells them of one, or
# import test/kubetest, which looks for those of test/cluster.
all_packages = $(patsubst $(module)/%,./%,$(shell go list ./...))
saying = $(patsubst %/,./%,$(sort $(dir $(shell grep -rlE --include='*_test.go' --exclude-dir=cluster '"($(1))"' internal test bench))))
with_ray = $(call saying,TRAINYARD_TEST_(PYTHON|RAY_ADDRESS|RAY_TOKEN|STATE))
with_cluster = $(call saying,$(module)/test/kubetest)

# The packages whose tests hold, and with -update write, generated files.
generated := ./internal/config ./internal/report ./test/layers

# What is installed is stamped with a checksum of the file that pins it, and
# is brought up to date when that file, not its date, changes.
pinned_by = $(firstword $(shell cat $(1) 2>/dev/null | cksum))
go_tools := tools/bin/.$(call pinned_by,tools/go.sum)-$(shell go env GOVERSION)
uv       := tools/.uv/.$(call pinned_by,internal/pyenv/bootstrap.lock)
py_locks := train/requirements.lock train/requirements-dev.lock
venv     := .venv/.$(call pinned_by,$(py_locks))
aws_lock := test/awssim/clients/requirements.lock
aws_venv := tools/.aws/.$(call pinned_by,$(aws_lock))

##@ Use

.PHONY: help
help: ## show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/trainyard, one static file
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $(if $(version),-X $(module)/internal/cli.version=$(version))" \
		-o bin/trainyard ./cmd/trainyard

.PHONY: demo
demo: build ## train a small language model on this machine
	bin/trainyard train

##@ Develop

.PHONY: check
check: check-go check-docs check-python check-shell ## format, vet, lint, types, generated files

.PHONY: test
test: test-go test-python test-aws test-ray test-cluster ## all tests but e2e: Go, Python, AWS's clients, the binary with a real Ray, a real Kubernetes

.PHONY: e2e
e2e: ## train in pods of real kubelets, as root on Linux: test/cluster/README.md
	go run -C test/cluster . -nodes 3 -build
	go run -C test/cluster . -nodes 3 -- go run ./test/noskip -count=1 -timeout 20m -run '^TestNodes$$' ./test/e2e

.PHONY: fmt
fmt: $(go_tools) $(venv) ## format Go and Python
	tools/bin/golangci-lint fmt
	cd train && ../.venv/bin/ruff format $(py_code) && ../.venv/bin/ruff check --fix $(py_code)

.PHONY: generate
generate: ## write docs and linter rules from the code again
	go test $(generated) -update

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (20s)
	@grep -rE --include='*_test.go' --exclude-dir='.*' '^func Fuzz' . | \
	sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | while read -r package name; do \
		echo "$$package $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; \
	done

.PHONY: bench
bench: ## measure: start-up of the binary, then Go benchmarks
	go run ./bench/startup
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: clean
clean: ## remove what was built; keep the tools
	rm -rf bin dist .mypy_cache .ruff_cache .pytest_cache train/.mypy_cache train/.ruff_cache train/.pytest_cache

.PHONY: distclean
distclean: clean ## remove the tools and the Python environment too
	rm -rf tools/bin tools/.uv tools/.aws .venv

# Parts of check and test; each may be run alone.

.PHONY: check-go check-docs check-python check-shell test-go test-python test-aws test-ray test-cluster test-nodes
check-go: $(go_tools)
	go vet ./...
	tools/bin/golangci-lint fmt --diff
	tools/bin/golangci-lint run

# Pages and rules that are written from the code are golden files of tests.
check-docs:
	go test $(generated)

check-python: $(venv)
	cd train && ../.venv/bin/ruff format --check $(py_code) && ../.venv/bin/ruff check $(py_code) && ../.venv/bin/mypy --strict $(py_code)

check-shell: $(venv)
	$(or $(wildcard .venv/bin/shellcheck),shellcheck) $(shell_scripts) # no wheel for Linux on arm64

test-go:
	go test -count=1 $(filter-out $(with_ray),$(all_packages))

test-python: $(venv)
	cd train && ../.venv/bin/python -m pytest

# AWS's own clients against the simulated AWS.
test-aws: $(aws_venv)
	cd test/awssim/clients && ../../../tools/.aws/bin/python -m pytest

# One cluster serves all of them, in turns; one that is skipped is a failure.
test-ray:
	go run ./test/withray -- go run ./test/noskip -count=1 -p 1 -timeout 20m -skip '^Test(Kubernetes.*|Nodes)$$' $(with_ray)

# What Kubernetes is made of is built first, once, which takes longer than tests
# may. Packages take turns: some restart what all of them use.
test-cluster:
	go run -C test/cluster . -build
	go test -C test/cluster -count=1 ./...
	go run -C test/cluster . -- go run ./test/withray -- go run ./test/noskip -count=1 -p 1 -timeout 40m -skip '^Test(Scripts|Nodes|AWS.*)$$' $(with_cluster)

# The cluster of e2e tests itself: how it starts, loses nodes, and leaves nothing.
test-nodes:
	go run -C test/cluster . -nodes 3 -build
	go test -C test/cluster -count=1 -v -timeout 20m -run '^TestNodes' -nodes .

# Installed once, rebuilt when what pins them changes.

$(go_tools):
	@echo 'building the linter (a few minutes, once)'
	rm -rf tools/bin
	cd tools && GOBIN=$(CURDIR)/tools/bin go install tool
	touch $@

$(uv):
	@test -n '$(PYTHON)' || { echo 'no Python 3.10 to 3.13 with venv found; set PYTHON=/path/to/python'; exit 1; }
	rm -rf tools/.uv
	$(PYTHON) -m venv tools/.uv
	tools/.uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r internal/pyenv/bootstrap.lock
	touch $@

$(venv): $(uv)
	test -x .venv/bin/python || tools/.uv/bin/uv venv --clear --python $(PYTHON) .venv
	rm -f .venv/.[0-9]*
	tools/.uv/bin/uv pip sync --python .venv/bin/python --require-hashes --compile-bytecode $(py_locks)
	touch $@

$(aws_venv): $(uv)
	test -x tools/.aws/bin/python || tools/.uv/bin/uv venv --clear --python $(PYTHON) tools/.aws
	rm -f tools/.aws/.[0-9]*
	tools/.uv/bin/uv pip sync --python tools/.aws/bin/python --require-hashes --compile-bytecode $(aws_lock)
	touch $@
