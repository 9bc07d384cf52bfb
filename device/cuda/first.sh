#!/usr/bin/env bash
# The first hour on a machine with a GPU, in stages of at most ten minutes each. pack.sh packs it
# with programs, tests, golden cases and compiled kernels.
#	./gpu/first.sh STAGE...      look kernels math sanitize train bench torch probe
# A stage appends its figures to results.jsonl and its log to STAGE.log, and ends with one line of
# figures. `gomx bench --gpu-report gpu` makes tables of results.jsonl. NVIDIA's libraries are looked
# for where the loader finds them, and in the packages of PYTHON (default: python3), which the stage
# torch also needs.
set -uo pipefail
cd "$(dirname "$0")"
here=$PWD
limit=${LIMIT:-600}
python=${PYTHON:-python3}

# libraries prints the folders of NVIDIA's wheels, for our own programs alone.
libraries() {
	command -v "$python" >/dev/null || return 0
	"$python" - <<-'EOF' 2>/dev/null || true
		import glob, site, sysconfig
		roots = set(site.getsitepackages() + [site.getusersitepackages(), sysconfig.get_paths()["purelib"]])
		print(":".join(sorted({d for r in roots for d in glob.glob(r + "/nvidia/*/lib")})))
	EOF
}
found=$(libraries)

# ours runs a program of the archive: with the libraries, and with the packed kernels as its cache.
ours() {
	env LD_LIBRARY_PATH="$found${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XDG_CACHE_HOME="$here/cache" "$@"
}

result() { # arguments: stage, name, value, unit
	printf '{"stage":"%s","name":"%s","value":%s,"unit":"%s"}\n' "$@" >>results.jsonl
}

# tests runs the tests of a package; it adds to passed and failed.
tests() { # arguments: package, arguments of its tests; after "under" a program that runs them
	local p=$1 args=() under=() before=$SECONDS
	shift
	while [ $# -gt 0 ]; do
		if [ "$1" = under ]; then
			under=("${@:2}")
			break
		fi
		args+=("$1")
		shift
	done
	[ -x "$p/run.test" ] || return 0
	if (cd "$p" && ours "${under[@]}" ./run.test -test.timeout "${limit}s" "${args[@]}"); then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	result "$stage" "tests of $p" $((SECONDS - before)) s
}

# suite runs a suite of gomx bench and keeps its lines.
suite() { # arguments: prefix of names, arguments of gomx bench
	local prefix=$1
	shift
	ours timeout "$limit" ./gomx bench "$@" | tee /dev/stderr | awk -F'\t' -v stage="$stage" -v prefix="$prefix" '
		!/^#/ && NF >= 5 {
			printf "{\"stage\":\"%s\",\"name\":\"%s%s\",\"value\":%s,\"unit\":\"%s\"", stage, prefix, $1, $2 + 0, $5
			if ($6 != "") printf ",\"peer\":\"%s\",\"peer_value\":%s,\"ratio\":%s", $6, $3 + 0, $4 + 0
			print "}"
		}' >>results.jsonl
	lines=$((lines + 1))
}

need_device() {
	case "$devices" in *'gpu: 0 devices'*) echo "$stage: 0 devices: nothing to do"; return 1 ;; esac
}

if ! devices=$(ours ./gomx devices 2>&1); then
	echo "first.sh: gomx does not start: $devices" >&2
	exit 1
fi
status=0
for stage in "${@:-look}"; do
	passed=0 failed=0 lines=0 begin=$SECONDS
	case $stage in
	look)
		{ nvidia-smi; echo "$devices"; } >look.log 2>&1
		echo "$devices"
		case "$devices" in
		*'gpu: 0 devices'*) echo "look: 0 devices; wanted: a driver (libcuda.so.1, 525 or later), and NVRTC, cuBLAS, cuDNN for speed" ;;
		*) echo "look: $(grep -c '^gpu(' <<<"$devices") devices, $(ls cache/gomx/cuda 2>/dev/null | wc -l) compiled kernels" ;;
		esac
		continue
		;;
	kernels | math | sanitize | train | bench | torch | probe) need_device || continue ;;
	*)
		echo "first.sh: unknown stage $stage; stages: look kernels math sanitize train bench torch probe" >&2
		exit 2
		;;
	esac
	{
		case $stage in
		kernels) for p in device/cuda op/*; do tests "$p"; done ;;
		math) tests internal/conformance -test.run 'TestOps$|TestModels$' -golden "$here/golden" -device cuda ;;
		sanitize)
			if command -v compute-sanitizer >/dev/null; then
				for tool in memcheck racecheck; do
					tests op/prim -test.run 'Chain|Dot|Reduce|Softmax|Columns' under compute-sanitizer --tool $tool --error-exitcode 9
					tests op/nn -test.run 'Conv|BatchNorm|Pool|LayerNorm' under compute-sanitizer --tool $tool --error-exitcode 9
				done
			else
				echo "there is no compute-sanitizer"
			fi
			;;
		train) tests module -test.run CUDA -test.v ;;
		bench)
			for precision in float32 tf32 float16 bfloat16; do suite "$precision." convnets --device cuda --precision $precision; done
			suite "streams." convnets --device cuda --precision bfloat16 --streams 4
			suite "replay." convnets --device cuda --precision bfloat16 --replay
			;;
		torch) for precision in tf32 bfloat16; do suite "torch.$precision." convnets --device cuda --precision $precision --peer torch="$python"; done ;;
		probe)
			(cd device/cuda && ours ./run.test -test.run '^$' -test.bench . -test.timeout "${limit}s") | tee /dev/stderr |
				awk '/^Benchmark/ { for (i = 2; i < NF; i++) if ($(i + 1) == "MB/s") printf "{\"stage\":\"probe\",\"name\":\"%s\",\"value\":%s,\"unit\":\"GB/s\"}\n", $1, $i / 1000 }' >>results.jsonl
			;;
		esac
	} >"$stage.log" 2>&1
	[ $failed = 0 ] || status=1
	printf '%s: %d s, %d packages passed, %d failed, %d suites, %d results\n' "$stage" $((SECONDS - begin)) $passed $failed $lines \
		"$(grep -c "\"stage\":\"$stage\"" results.jsonl 2>/dev/null || true)"
done
exit $status
