#!/usr/bin/env bash
# Runs the tests of GPUs on the strict imitation of the driver, see device/cuda/imitation: planted
# faults, every operator, small networks, module's tests and training, with several seeds; and once
# every operator on the PTX that NVIDIA's compiler makes of the kernels. It needs what check.sh needs,
# and keeps files in the same folder.
# LANES seeds run at a time, by default one more than there are cores, because a seed also waits for
# the pauses of streams.
#	SEEDS="1 2 3" NO_PTX=1 device/cuda/strict.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
GO=${GO:-go}
SEEDS=${SEEDS:-1 2 3 4 5 6 7 8}
LANES=${LANES:-$(($(nproc) + 1))}
export CACHE=${CACHE:-$PWD/.cache/cuda}
ONLY=imitation GO="$GO" bash device/cuda/check.sh
[ -e "$CACHE/fake/libcuda.so.1" ] || exit 0 # check.sh has said why

fake=device/cuda/fake
kept="strict-$(cat $fake/host.h $fake/nvrtc.cc | sha256sum | cut -c1-12)"
find "$CACHE" -maxdepth 1 -name 'strict-*' ! -name "$kept" -exec rm -rf {} +
GOCACHE=$($GO env GOCACHE)
export GOCACHE XDG_CACHE_HOME="$CACHE/$kept" CPATH="$CACHE/runtime/nvidia/cuda_runtime/include"
bin="$CACHE/strict-bin"
rm -rf "$bin"

build() { # arguments: packages
	local p
	for p in "$@"; do
		mkdir -p "$bin/$p"
		$GO test -tags cuda -c -o "$bin/$p/run.test" "./$p"
	done
}

tests() { # arguments: package, arguments of its tests
	local p=$1
	shift
	(cd "$p" && LD_LIBRARY_PATH="$libraries" "$bin/$p/run.test" -test.timeout 30m "$@") ||
		{ echo "cuda-strict: $p failed with GX_FAKE_SEED=${GX_FAKE_SEED:-} GX_FAKE_PTX=${GX_FAKE_PTX:-}" >&2; exit 1; }
}

ops=$(cd op && for d in */; do if ls "$d"*_cuda.go >/dev/null 2>&1 && ls "$d"*_test.go >/dev/null 2>&1; then echo "op/${d%/}"; fi; done)
build device/cuda/imitation device/cuda $ops exec module ndarray optimizer kvstore kvstore/joint internal/conformance
# ptx runs the operators on the PTX that NVIDIA's compiler writes, which the imitation interprets. Its
# folder has no other compiler and no libraries of layers, so that our own kernels run.
ptx() {
	local p libraries="$CACHE/fakeptx:$CACHE/nvrtc/nvidia/cuda_nvrtc/lib"
	mkdir -p "$CACHE/fakeptx"
	cp "$CACHE/fake/libcuda.so.1" "$CACHE/fakeptx/"
	export GX_FAKE_PTX=1 XDG_CACHE_HOME="$CACHE/ptx"
	for p in device/cuda/imitation device/cuda $ops; do tests "$p" -test.skip 'TestCompile|Planted'; done
	tests internal/conformance -test.run 'TestOps$' -device cuda
}

seed() { # argument: the seed
	local p libraries="$CACHE/fake:$CACHE/fakeblas:$CACHE/fakednn:$CACHE/fakenccl"
	local large=() # cases of many elements, which seeds after the first leave out
	[ "$1" = "${SEEDS%% *}" ] || large=(-test.skip 'AttentionOfFewQueries|AttentionMask/.*/blocks')
	export GX_FAKE_SEED=$1
	tests device/cuda -test.skip TestCompile
	for p in $ops; do tests "$p" "${large[@]}"; done
	for p in exec module ndarray optimizer kvstore kvstore/joint; do tests "$p" -test.run CUDA; done
	tests internal/conformance -test.run 'TestOps$|TestModels$' -device cuda -small
}

start() { # arguments: name, command; it runs beside the others, as soon as a lane is free
	local from name=$1 log="$CACHE/strict-$1.log"
	while [ "$(jobs -rp | wc -l)" -ge "$LANES" ]; do wait -n || exit 1; done
	from=$SECONDS
	(
		exec 3>&2
		trap '[ $? = 0 ] || cat "$log" >&3' EXIT
		"${@:2}" >"$log" 2>&1
		printf 'cuda-strict: %s passed in %d s\n' "$name" $((SECONDS - from))
	) &
}

trap 'kill $(jobs -p) 2>/dev/null || :' EXIT # one has failed
# The kernels are compiled once, before several lanes need them.
libraries="$CACHE/fake" tests device/cuda -test.run TestCompile
printf 'cuda-strict: kernels compiled in %d s\n' $SECONDS
[ ! -e "$CACHE/nvrtc/done" ] || [ -n "${NO_PTX:-}" ] || start ptx ptx
for s in $SEEDS; do start "seed-$s" seed "$s"; done
while [ -n "$(jobs -p)" ]; do wait -n || exit 1; done
