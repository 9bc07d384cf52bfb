package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// build writes a script that stands for a build of gomx. It notes its name and arguments in a file
// of the folder.
func build(t *testing.T, dir, name, text string) string {
	return program(t, dir, name, `echo `+name+` "$@" >> `+dir+`/calls
n=$(grep -c "^`+name+` .*--match $4 " `+dir+`/calls)
`+text)
}

func duelSuite(names ...string) *Suite {
	var list []Workload
	for _, n := range names {
		list = append(list, steady(n, "images/s", 1))
	}
	return &Suite{Name: "s", Workloads: func() ([]Workload, error) { return list, nil }}
}

func fight(t *testing.T, s *Suite, dir, this, old string) (lines, calls []string, err error) {
	t.Helper()
	var b bytes.Buffer
	err = s.fight(context.Background(), &Config{Suite: "s", Against: build(t, dir, "old", old),
		Rounds: 10, Out: &b}, build(t, dir, "new", this))
	text, _ := os.ReadFile(filepath.Join(dir, "calls"))
	return strings.Split(strings.TrimSpace(b.String()), "\n"),
		strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

// TestBuildsAlternate has the figures of a build depend on how often it was called, so that the
// median is known.
func TestBuildsAlternate(t *testing.T) {
	dir := t.TempDir()
	lines, calls, err := fight(t, duelSuite("s.a"), dir,
		`echo '# a comment'; printf 's.a\t'$n'0\t-\t-\timages/s\t-\ns.geomean\t-\t-\t1\tratio\tx\n'`,
		`printf 's.a\t5\t-\t-\timages/s\t-\n'`)
	want := []string{"s.a\t55\t5\t11.00\timages/s\told", "s.geomean.old\t-\t-\t11.000\tratio\told",
		"s.geomean\t-\t-\t11.000\tratio\told"}
	if err != nil || !strings.Contains(lines[0], "10 alternations") ||
		strings.Join(lines[1:], "|") != strings.Join(want, "|") {
		t.Errorf("error %v, got %q, want %q", err, lines, want)
	}
	if len(calls) != 20 {
		t.Fatalf("%d calls, want 20", len(calls))
	}
	for i, c := range calls {
		name := []string{"new", "old", "old", "new"}[i%4]
		if want := name + " bench s --match s.a --rounds 1"; c != want {
			t.Errorf("call %d is %q, want %q", i, c, want)
		}
	}
}

func TestSlowerLinesAreRepeatedAlone(t *testing.T) {
	dir := t.TempDir()
	lines, calls, err := fight(t, duelSuite("s.a", "s.b"), dir,
		`v=9; test $n -gt 10 && v=20; printf $4'\t'$v'\t-\t-\timages/s\t-\n'`,
		`printf $4'\t10\t-\t-\timages/s\t-\n'`)
	want := []string{
		"# s.a: ratio 0.900 is below 0.93, measured once more at the end, alone",
		"# s.b: ratio 0.900 is below 0.93, measured once more at the end, alone",
		"# 2 lines were below 0.93; here they are once more, each measured alone",
		"s.a\t20\t10\t2.00\timages/s\told", "s.b\t20\t10\t2.00\timages/s\told",
		"s.geomean.old\t-\t-\t2.000\tratio\told", "s.geomean\t-\t-\t2.000\tratio\told"}
	if err != nil || strings.Join(lines[1:], "|") != strings.Join(want, "|") {
		t.Errorf("error %v, got %q, want %q", err, lines, want)
	}
	if len(calls) != 80 {
		t.Errorf("%d calls, want 80", len(calls))
	}
}

// TestLinesOfOnlyOneBuild leaves out lines that the other build does not have, and fails when it
// has no line.
func TestLinesOfOnlyOneBuild(t *testing.T) {
	this := `printf $4'\t9\t-\t-\tus/op\t-\n'`
	lines, _, err := fight(t, duelSuite("s.a", "s.b"), t.TempDir(), this,
		`test $4 = s.a || { echo unknown line >&2; exit 1; }; printf $4'\t18\t-\t-\tus/op\t-\n'`)
	if err != nil || lines[1] != "s.a\t9\t18\t2.00\tus/op\told" ||
		!strings.HasPrefix(lines[2], "# s.b: the other build does not measure it: ") ||
		!strings.HasSuffix(lines[2], "unknown line") ||
		!strings.HasPrefix(lines[4], "s.geomean\t-\t-\t2.000") {
		t.Errorf("error %v, got %q", err, lines)
	}
	_, _, err = fight(t, duelSuite("s.a"), t.TempDir(), this, `echo unknown suite >&2; exit 1`)
	if err == nil || !strings.Contains(err.Error(), "unknown suite") {
		t.Errorf("got %v, want the other build's complaint", err)
	}
	_, _, err = fight(t, duelSuite("s.a"), t.TempDir(), `echo broken >&2; exit 1`, this)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v, want this build's complaint", err)
	}
}

func TestGroupsOf(t *testing.T) {
	s := duelSuite("k.4KB.tcp", "k.4KB.tcp.cpu", "k.4KB.shm", "k.4KB.tcp.r2")
	list, _ := s.Workloads()
	var got []string
	for _, g := range groupsOf(list) {
		got = append(got, g.match+":"+strings.Join(g.names, ","))
	}
	if want := "k.4KB.tcp:k.4KB.tcp,k.4KB.tcp.cpu,k.4KB.tcp.r2 k.4KB.shm:k.4KB.shm"; strings.Join(
		got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgainstRefuses(t *testing.T) {
	for _, tt := range []struct {
		want string
		c    Config
	}{
		{"want at least 10", Config{Suite: "engine", Against: "x", Rounds: 9}},
		{"compares systems", Config{Suite: "platforms", Against: "x"}},
		{"the other build", Config{Suite: "engine", Against: filepath.Join(t.TempDir(), "none")}},
		{"want one of them", Config{Suite: "engine", Against: "x",
			Peers: []Peer{{"mxnet", "python"}}}},
		{"no workload", Config{Suite: "engine", Against: "/bin/sh", Match: "nothing"}},
	} {
		tt.c.Out = &bytes.Buffer{}
		if err := Run(t.Context(), tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.c, err, tt.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		list []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{7, 1, 3}, 3}, {[]float64{4, 1, 100, 2},
		3}} {
		if got := median(tt.list); got != tt.want {
			t.Errorf("median of %v: got %v, want %v", tt.list, got, tt.want)
		}
	}
}
