#!/usr/bin/env bash
# Runs the programs that carry.sh packed on a machine with a GPU: every test on the device,
# conformance, then measurements. It prints the result of each part; the log is run.log.
#	./carry/run.sh [PART...]     parts: devices tests conformance sanitizer train bench; all by default
# TORCH is the path of a Python with torch, to measure torch too. The folders of cuBLAS, cuDNN and
# NVRTC must be in LD_LIBRARY_PATH.
set -uo pipefail
cd "$(dirname "$0")"
parts=${*:-devices tests conformance sanitizer train bench}
peer=${TORCH:+--peer torch=$TORCH}
failed=0

part() { # arguments: name, then the command to run
	local name=$1 start=$SECONDS
	shift
	printf '=== %s: %s\n' "$name" "$*"
	if "$@"; then
		printf '=== %s passed in %d s\n' "$name" $((SECONDS - start))
	else
		printf '=== %s FAILED with %d after %d s\n' "$name" $? $((SECONDS - start))
		failed=1
	fi
}

tests() { # arguments: package, arguments of its tests; then optionally under and a program that runs them
	local p=$1 args=() under=()
	shift
	while [ $# -gt 0 ]; do
		if [ "$1" = under ]; then
			under=("${@:2}")
			break
		fi
		args+=("$1")
		shift
	done
	[ ! -x "$p/run.test" ] || part "tests of $p ${under[*]}" in_folder "$p" "${under[@]}" ./run.test "${args[@]}"
}

in_folder() { (cd "$1" && "${@:2}"); }

wants() { case " $parts " in *" $1 "*) return 0 ;; esac; return 1; }

{
	if wants devices; then
		part "the driver" nvidia-smi
		part "devices" ./gomx devices
	fi
	if wants tests; then
		for p in device/cuda op/prim op/nn op/rnn op/update op/loss; do
			tests "$p" -test.timeout 10m
		done
		for p in symbol kvstore ndarray; do
			tests "$p" -test.timeout 10m -test.run CUDA
		done
	fi
	if wants conformance; then
		tests internal/conformance -test.timeout 30m -test.run 'TestOps$|TestModels$' -golden "$PWD/golden" -device cuda
	fi
	if wants sanitizer && command -v compute-sanitizer >/dev/null; then
		for tool in memcheck racecheck; do
			tests op/prim -test.timeout 20m -test.run 'Chain|Dot|Reduce|Softmax' under compute-sanitizer --tool $tool --error-exitcode 9
			tests op/nn -test.timeout 20m -test.run 'Conv|BatchNorm|Pool' under compute-sanitizer --tool $tool --error-exitcode 9
		done
	fi
	if wants train; then
		tests module -test.timeout 10m -test.run CUDA -test.v
	fi
	if wants bench; then
		for precision in float32 tf32 float16 bfloat16; do
			part "convnets in $precision" ./gomx bench convnets --device cuda --precision $precision $peer
		done
		part "convnets on four streams" ./gomx bench convnets --device cuda --precision bfloat16 --streams 4
		part "convnets with recordings" ./gomx bench convnets --device cuda --precision bfloat16 --replay
	fi
	exit $failed
} 2>&1 | tee run.log
exit "${PIPESTATUS[0]}"
