#!/usr/bin/env bash
# Checks the support of GPUs without a GPU: builds with the cuda tag against headers from pip,
# starts the program without a driver, compiles every kernel with NVIDIA's compiler, and runs the
# tests on an imitated driver. It needs go, g++, and python3 with pip. It keeps fetched and built
# files in $CACHE (default: .cache/cuda of the repository). ONLY=imitation builds the driver alone.
# QUICK=1 leaves out the tests of whole operators, models and steps, which take most of the time.
set -euo pipefail
cd "$(dirname "$0")/../.."
GO=${GO:-go}
ARCHS=${ARCHS:-${QUICK:+80}}
ARCHS=${ARCHS:-70,80,90}
CACHE=${CACHE:-$PWD/.cache/cuda}
mkdir -p "$CACHE"

fetch() { # arguments: folder, then the packages for pip to install there
	[ -e "$CACHE/$1/done" ] && return 0
	python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --retries 1 --timeout 20 --no-deps --target "$CACHE/$1" "${@:2}" 2>"$CACHE/pip.log" && : >"$CACHE/$1/done"
}

if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
	echo "cuda-check: skipped: there is no python3 with pip to fetch the headers with" >&2
	exit 0
fi
if ! fetch runtime nvidia-cuda-runtime-cu12==12.4.127; then
	echo "cuda-check: skipped: pip cannot fetch nvidia-cuda-runtime-cu12 (see $CACHE/pip.log)" >&2
	exit 0
fi
if ! command -v g++ >/dev/null; then
	echo "cuda-check: skipped: there is no g++ for the imitated driver" >&2
	exit 0
fi

# The compiler finds the headers by CPATH, which, unlike CGO_CFLAGS, leaves other packages as they were built.
export CPATH="$CACHE/runtime/nvidia/cuda_runtime/include"
rm -rf "$CACHE/empty" && mkdir -p "$CACHE/empty" "$CACHE/fake" "$CACHE/bin"
fake=device/cuda/fake
GOCACHE=$($GO env GOCACHE)
# Compiled kernels are kept. Kernels of the imitated compiler have a folder per version of its
# source. Go's build cache stays in its usual folder.
kept="kernels-$(cat $fake/host.h $fake/nvrtc.cc | sha256sum | cut -c1-12)"
find "$CACHE" -maxdepth 1 -name 'kernels-*' ! -name "$kept" -exec rm -rf {} +
export GOCACHE XDG_CACHE_HOME="$CACHE/$kept"

devices() { # arguments: folder of libraries, then the text that the program must print about them,
	# because tests without the libraries would only skip
	local said
	said=$(LD_LIBRARY_PATH="$1" "$CACHE/bin/gomx" devices)
	echo "$said"
	case "$said" in *"$2"*) ;; *) echo "cuda-check: failed: want $2" >&2; exit 1 ;; esac
}

step() { printf 'cuda-check: %s (%d s)\n' "$*" $SECONDS; }

step "the imitated driver"
g++ -std=c++17 -O2 -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$CACHE/fake/libcuda.so.1" $fake/driver.cc -ldl -lpthread
g++ -std=c++17 -O2 -shared -fPIC -DGX_PRELUDE="\"$PWD/$fake/host.h\"" -Wl,-soname,libnvrtc.so.12 -o "$CACHE/fake/libnvrtc.so.12" $fake/nvrtc.cc
mkdir -p "$CACHE/fakeblas" "$CACHE/fakednn" "$CACHE/fakenccl"
g++ -std=c++17 -O2 -shared -fPIC -Wl,-soname,libcublas.so.12 -o "$CACHE/fakeblas/libcublas.so.12" $fake/blas.cc -ldl
g++ -std=c++17 -O2 -shared -fPIC -Wl,-soname,libcublasLt.so.12 -o "$CACHE/fakeblas/libcublasLt.so.12" $fake/blaslt.cc -ldl
g++ -std=c++17 -O2 -shared -fPIC -Wl,-soname,libcudnn.so.9 -o "$CACHE/fakednn/libcudnn.so.9" $fake/dnn*.cc -ldl
g++ -std=c++17 -O2 -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$CACHE/fakenccl/libnccl.so.2" $fake/nccl.cc -ldl
g++ -std=c++17 -O2 -o "$CACHE/bin/ncclcheck" $fake/ncclcheck.cc "$CACHE/fake/libcuda.so.1" "$CACHE/fakenccl/libnccl.so.2"
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakenccl" "$CACHE/bin/ncclcheck"

if [ "${ONLY:-}" = imitation ]; then
	fetch nvrtc nvidia-cuda-nvrtc-cu12==12.4.127 || echo "cuda-check: pip cannot fetch nvidia-cuda-nvrtc-cu12" >&2
	exit 0
fi

step "vet and build with the cuda tag"
$GO vet -tags cuda ./device/... ./op/... ./cmd/gomx
$GO build -tags cuda -o "$CACHE/bin/gomx" ./cmd/gomx

step "start without a driver"
devices "$CACHE/empty" 'gpu: 0 devices'

if fetch nvrtc nvidia-cuda-nvrtc-cu12==12.4.127; then
	step "every kernel by NVIDIA's compiler for $ARCHS"
	devices "$CACHE/nvrtc/nvidia/cuda_nvrtc/lib" 'NVRTC: 12'
	# Real kernels have a folder of their own: the imitation would not load them.
	XDG_CACHE_HOME="$CACHE/real" LD_LIBRARY_PATH="$CACHE/nvrtc/nvidia/cuda_nvrtc/lib" $GO test -tags cuda -count=1 -timeout 15m -run TestCompile ./device/cuda -args -archs "$ARCHS"
else
	step "skipped: pip cannot fetch nvidia-cuda-nvrtc-cu12, so NVIDIA's compiler has compiled no kernel"
fi

step "the tests on the imitated driver"
devices "$CACHE/fake" 'gpu(1): imitation'
devices "$CACHE/fake:$CACHE/fakenccl" 'NCCL: 2.23.4'
if [ -n "${QUICK:-}" ]; then
	GX_FAKE_DEVICES=4 LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakenccl" $GO test -tags cuda -count=1 -timeout 15m ./kvstore/joint
	LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakeblas:$CACHE/fakednn" $GO test -tags cuda -count=1 -timeout 15m -skip 'TestCompile|Planted' ./device/cuda
	LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m -run CUDA ./exec ./ndarray ./optimizer
	step "passed, but for the tests that QUICK leaves out"
	exit 0
fi
LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m -skip TestCompile ./device/cuda ./op/...
GX_FAKE_SEED=1 XDG_CACHE_HOME="$CACHE/planted" LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m -run Planted ./device/cuda
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakeblas:$CACHE/fakednn" $GO test -tags cuda -count=1 -timeout 15m -skip 'TestCompile|Planted' ./device/cuda
LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m ./device/cuda/imitation
LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m -run CUDA ./exec ./kvstore ./module ./ndarray ./optimizer
LD_LIBRARY_PATH="$CACHE/fake" $GO test -tags cuda -count=1 -timeout 15m -run 'TestOps$|TestModels$' ./internal/conformance -device cuda -small
GX_FAKE_DEVICES=4 LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakenccl" $GO test -tags cuda -count=1 -timeout 15m -run CUDA ./kvstore ./kvstore/joint
GX_FAKE_DEVICES=4 LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakenccl" $GO test -tags cuda -count=1 -timeout 15m -run 'CUDAJoint|CUDAFitOver' ./module
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakeblas" $GO test -tags cuda -count=1 -timeout 15m -run 'Dot|Conv|Deconv|FullyConnected|FC' ./op/prim ./op/nn
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakednn" $GO test -tags cuda -count=1 -timeout 15m -run 'Conv|Deconv|Pool|Norm|Soft|Layer|CUDALibrary' ./device/cuda ./op/nn ./op/loss ./op/prim
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakednn" $GO test -tags cuda -count=1 -timeout 15m -run CUDALibrary ./op/rnn ./exec
LD_LIBRARY_PATH="$CACHE/fake:$CACHE/fakeblas:$CACHE/fakednn" $GO test -tags cuda -count=1 -timeout 15m -run 'CUDAStepWork|CUDALayoutCopies' ./module
step "passed"
