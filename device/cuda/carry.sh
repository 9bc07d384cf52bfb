#!/usr/bin/env bash
# Packs gomx and its tests for a machine with a GPU that has no network, compiler or packages:
# programs built with the tags cuda, nodnn and nojpeg, which do not need oneDNN; their shared
# libraries except the C and C++ libraries, of which NVIDIA's libraries may need newer versions;
# and the golden cases of the repository.
#	device/cuda/carry.sh carry.tar.gz            then there: tar xzf carry.tar.gz && ./carry/run.sh
# PACKAGES lists the packages whose tests are packed, GOLDEN is another folder of golden cases.
# CPATH must contain the folder of CUDA's headers, as for any build with the tag cuda.
set -euo pipefail
out=$(realpath -m "${1:?usage: carry.sh FILE.tar.gz}")
cd "$(dirname "$0")/../.."
GO=${GO:-go}
PACKAGES=${PACKAGES:-device/cuda op/prim op/nn op/rnn op/update op/loss symbol kvstore module ndarray internal/conformance}
GOLDEN=${GOLDEN:-internal/conformance/testdata/golden}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/carry
mkdir -p "$dir/lib"

# Programs look for the packed libraries beside themselves: LD_LIBRARY_PATH would reach other
# programs that they start, such as Python.
link() { echo "-s -w -extldflags=-Wl,-rpath,\$ORIGIN/$1"; }
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
	echo "carry: a program needs oneDNN: $(ls "$dir/lib")" >&2
	exit 1
fi
cp -r "$GOLDEN" "$dir/golden"
cp device/cuda/run.sh "$dir/run.sh"
tar -C "$work" -czf "$out" carry
ls -l "$out"
