#!/usr/bin/env bash
# Packs gomx and its tests for a machine with a GPU that has no network, compiler or packages:
# programs built with the tags cuda, nodnn and nojpeg, which do not need oneDNN; their shared
# libraries except the C and C++ libraries, of which NVIDIA's libraries may need newer versions; the
# golden cases; kernels compiled by NVRTC; and first.sh, which runs everything in stages.
#	device/cuda/pack.sh gpu.tar.xz            then there: tar xJf gpu.tar.xz && ./gpu/first.sh look
# PACKAGES lists the packages whose tests are packed, GOLDEN is another folder of golden cases. ARCHS
# lists compute capabilities, PTX the one for devices that are newer. It fetches the headers and NVRTC
# as check.sh does, into the same folder.
set -euo pipefail
out=$(realpath -m "${1:?usage: pack.sh FILE.tar.xz}")
cd "$(dirname "$0")/../.."
GO=${GO:-go}
export CACHE=${CACHE:-$PWD/.cache/cuda}
PACKAGES=${PACKAGES:-device/cuda op/prim op/nn op/rnn op/update module internal/conformance}
GOLDEN=${GOLDEN:-internal/conformance/testdata/golden}
ARCHS=${ARCHS-75,80,86,89,90}
OLD=${OLD-70} # by NVRTC 12, which newer versions no longer compile for
PTX=${PTX-90}

fetch() { # arguments: folder, then the package for pip to install there
	[ -e "$CACHE/$1/done" ] && return 0
	mkdir -p "$CACHE"
	python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --target "$CACHE/$1" "$2"
	: >"$CACHE/$1/done"
}
fetch runtime nvidia-cuda-runtime-cu12==12.4.127
fetch nvrtc nvidia-cuda-nvrtc-cu12==12.4.127
fetch nvrtc13 nvidia-cuda-nvrtc==13.0.88
export CPATH="$CACHE/runtime/nvidia/cuda_runtime/include"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/gpu
mkdir -p "$dir/lib" "$CACHE/pack"

# The tests of device/cuda compile the kernels; they are kept from one archive to the next.
kernels() { # arguments: folder of NVRTC, arguments of the test
	LD_LIBRARY_PATH="$1" $GO test -tags cuda -count=1 -timeout 120m -run TestPack ./device/cuda -args -pack "$CACHE/pack" "${@:2}"
}
old_nvrtc="$CACHE/nvrtc/nvidia/cuda_nvrtc/lib" new_nvrtc="$CACHE/nvrtc13/nvidia/cu13/lib"
[ -z "$OLD" ] || kernels "$old_nvrtc" -archs "$OLD"
[ -z "$ARCHS" ] || kernels "$new_nvrtc" -archs "$ARCHS"
[ -z "$PTX" ] || kernels "$old_nvrtc" -archs "$PTX" -translated # older drivers read the PTX of NVRTC 12
mkdir -p "$dir/cache/gomx"
cp -r "$CACHE/pack" "$dir/cache/gomx/cuda"

# Programs look for the packed libraries beside themselves: LD_LIBRARY_PATH would reach other
# programs that they start, such as Python.
# The old kind of search path holds for the libraries of libraries too.
link() { echo "-s -w -extldflags=-Wl,--disable-new-dtags,-rpath,\$ORIGIN/$1"; }
$GO build -tags cuda,nodnn,nojpeg -trimpath -ldflags="$(link lib)" -o "$dir/gomx" ./cmd/gomx
for p in $PACKAGES; do
	mkdir -p "$dir/$p"
	up=$(sed 's,[^/]*,..,g' <<<"$p")
	$GO test -tags cuda,nodnn,nojpeg -trimpath -ldflags="$(link "$up/lib")" -c -o "$dir/$p/run.test" "./$p"
	[ ! -d "$p/testdata" ] || cp -r "$p/testdata" "$dir/$p/testdata"
done
for b in "$dir/gomx" "$dir"/*/*/run.test "$dir"/*/run.test; do
	[ ! -e "$b" ] || ldd "$b" | awk '/=> \//{print $3}'
done | sort -u | grep -vE '/(ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)[-.]' | xargs -I{} cp -L {} "$dir/lib/"
if ls "$dir/lib" | grep -q dnnl; then
	echo "pack: a program needs oneDNN: $(ls "$dir/lib")" >&2
	exit 1
fi
cp -r "$GOLDEN" "$dir/golden"
cp device/cuda/first.sh "$dir/first.sh"
# The programs have much in common, which a dictionary larger than two of them finds: eight minutes.
tar -C "$work" -c gpu | xz --lzma2=preset=6,dict=256MiB >"$out"
ls -l "$out"
