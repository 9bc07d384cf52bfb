package bench

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	nd "gomx/ndarray"
)

// mxnetFlag names an interpreter that has mxnet.
var mxnetFlag = flag.String("mxnet", "", "Python with mxnet; empty: tests against it are left out")

// oddName is the form from which peers/oddconvs.py reads the sizes.
var oddName = regexp.MustCompile(`^oddconvs\.(?:(dense|depthwise|grouped)\.k(\d+)\.s(\d+)\.g(\d+)\.i(\d+)\.o(\d+)|` +
	`head\.i\d+\.b\d+\.o\d+\+\d+)\.(16|56)\.bs(1|16)\.(infer|train)$`)

func TestOddConvsCoverTheProduct(t *testing.T) {
	list, err := oddconvs()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, w := range list {
		if !oddName.MatchString(w.Name) {
			t.Errorf("%s: a name that the peer cannot read", w.Name)
		}
		if seen[w.Name] {
			t.Errorf("%s occurs twice", w.Name)
		}
		seen[w.Name] = true
	}
	for _, kernel := range []int{1, 3} {
		for _, in := range []int{1, 3, 8, 16, 24, 32, 64} {
			for _, out := range []int{1, 4, 6, 12, 18, 21, 30, 36, 50, 255} {
				for _, stride := range []int{1, 2} {
					for _, end := range []string{"16.bs1.infer", "16.bs1.train", "56.bs16.infer",
						"56.bs16.train"} {
						if name := fmt.Sprintf("oddconvs.dense.k%d.s%d.g1.i%d.o%d.%s", kernel,
							stride, in, out, end); !seen[name] {
							t.Errorf("%s is missing", name)
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"depthwise.k3.s2.g24.i24.o24.16.bs1.infer",
		"depthwise.k1.s1.g64.i64.o128.56.bs16.train",
		"grouped.k3.s1.g2.i8.o12.16.bs1.train", "grouped.k1.s2.g4.i64.o36.56.bs1.infer",
		"grouped.k3.s1.g32.i64.o64.16.bs16.train",
		"head.i3.b18.o12+21.56.bs1.infer", "head.i64.b32.o36+18.16.bs16.train"} {
		if !seen["oddconvs."+name] {
			t.Errorf("oddconvs.%s is missing", name)
		}
	}
}

// TestOddNetsHaveTheirNames compares the shapes of networks with the sizes in their names.
func TestOddNetsHaveTheirNames(t *testing.T) {
	for _, n := range oddNets() {
		args, outs, _, err := n.net.InferShape(map[string]nd.Shape{"data": n.shape})
		if err != nil {
			t.Fatalf("%s: %v", n.name, err)
		}
		var kernel, stride, groups, in, out, side, batch int
		if _, err := fmt.Sscanf(n.name[strings.Index(n.name, ".k")+1:],
			"k%d.s%d.g%d.i%d.o%d.%d.bs%d",
			&kernel, &stride, &groups, &in, &out, &side, &batch); err != nil {
			continue // a head
		}
		if want := []int{batch, in, side, side}; !slices.Equal(n.shape, want) {
			t.Errorf("%s: data %v, want %v", n.name, n.shape, want)
		}
		if want := []int{out, in / groups, kernel, kernel}; !slices.Equal(args[1], want) {
			t.Errorf("%s: weight %v, want %v", n.name, args[1], want)
		}
		if want := []int{batch, out, side / stride, side / stride}; !slices.Equal(outs[0], want) {
			t.Errorf("%s: output %v, want %v", n.name, outs[0], want)
		}
	}
}

func TestOddConvsAreMeasured(t *testing.T) {
	for _, n := range oddNets() {
		if n.name != "oddconvs.dense.k3.s1.g1.i3.o6.16.bs1" &&
			n.name != "oddconvs.head.i3.b18.o12+21.16.bs1" {
			continue
		}
		for _, training := range []bool{false, true} {
			if v, err := n.cost(context.Background(), training); err != nil || v <= 0 {
				t.Errorf("%s: got %v, %v", n.name, v, err)
			}
		}
	}
}

// TestPeerMeasuresOddConvs has the real peer answer one line of every family, and a name that it
// cannot read.
func TestPeerMeasuresOddConvs(t *testing.T) {
	if *mxnetFlag == "" {
		t.Skip("no -mxnet PYTHON")
	}
	ps, err := newPrograms()
	if err != nil {
		t.Fatal(err)
	}
	defer ps.close()
	peer := Peer{"mxnet", *mxnetFlag}
	s, err := ps.session(t.Context(), "oddconvs.py", peer, oneOrTwoThreads(peer)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"oddconvs.dense.k3.s1.g1.i3.o6.16.bs1.train",
		"oddconvs.depthwise.k3.s2.g8.i8.o16.16.bs1.infer",
		"oddconvs.grouped.k1.s1.g4.i16.o12.16.bs1.train",
		"oddconvs.head.i3.b18.o12+21.16.bs1.train"} {
		if v, err := s.ask(t.Context(), line); err != nil || v <= 0 {
			t.Errorf("%s: got %v, %v", line, v, err)
		}
	}
	if _, err := s.ask(t.Context(), "oddconvs.nothing"); err == nil ||
		!strings.Contains(err.Error(), "unknown line") {
		t.Errorf("got %v, want the peer's complaint", err)
	}
}

func TestTenth(t *testing.T) {
	list, err := oddconvs()
	if err != nil {
		t.Fatal(err)
	}
	names := func(seed uint64) []string {
		var names []string
		for _, w := range tenth(list, seed) {
			names = append(names, w.Name)
		}
		return names
	}
	one := names(1)
	if got, most := len(one), len(list)/10+4; got < len(list)/10 || got > most {
		t.Errorf("%d of %d lines, want a tenth", got, len(list))
	}
	if !slices.Equal(one, names(1)) {
		t.Error("one seed gives two choices")
	}
	if slices.Equal(one, names(2)) {
		t.Error("two seeds give one choice")
	}
	for _, f := range []string{"dense", "depthwise", "grouped", "head"} {
		if !slices.ContainsFunc(one, func(n string) bool { return family(n) == "oddconvs."+f }) {
			t.Errorf("no line of the family %s", f)
		}
	}
}
