package text_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/io/text"
)

// write writes files below a new folder and returns their paths.
func write(t testing.TB, contents ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, c := range contents {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("part-%d", i)))
		if err := os.WriteFile(paths[i], []byte(c), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// open opens files and closes them after the test.
func open(t testing.TB, names string, o text.Options) *text.Lines {
	t.Helper()
	l, err := text.Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// all reads lines in the order of rows.
func all(t testing.TB, l *text.Lines, rows []int) []string {
	t.Helper()
	got := make([]string, len(rows))
	err := l.Each(rows, func(_, i int, line []byte) error {
		got[i] = strings.TrimSuffix(string(line), "\r")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// count returns 0, 1, … n-1.
func count(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// randomText returns lines, and the file that holds them among blank lines and comments.
func randomText(r *rand.Rand, longest int) (file string, samples []string) {
	var b strings.Builder
	n := r.IntN(40)
	for i := range n {
		line := fmt.Sprintf("%d %s", i, strings.Repeat("x", r.IntN(longest)))
		switch r.IntN(8) {
		case 0:
			b.WriteString("\n")
		case 1:
			b.WriteString(" \t \r\n")
		case 2:
			b.WriteString("  # " + line + "\n")
		}
		samples = append(samples, strings.Repeat(" ", r.IntN(2))+line)
		b.WriteString(samples[i])
		if r.IntN(2) == 0 {
			b.WriteString("\r")
		}
		if i+1 < n || r.IntN(2) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String(), samples
}

// TestParts divides random files into parts: together they have every line once, in order.
func TestParts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		longest := []int{3, 30, 3000}[r.IntN(3)]
		var contents, want []string
		for range 1 + r.IntN(3) {
			file, samples := randomText(r, longest)
			contents, want = append(contents, file), append(want, samples...)
		}
		paths := write(t, contents...)
		names := strings.Join(paths, ";")
		if r.IntN(2) == 0 {
			names = filepath.Dir(paths[0])
		}
		parts := 1 + r.IntN(5)
		var got []string
		for part := range parts {
			l := open(t, names, text.Options{Part: part, Parts: parts, Comments: true,
				Threads: 1 + r.IntN(3)})
			if n, err := l.CountBefore(); err != nil || n != len(got) {
				t.Fatalf("%d samples before part %d of %d, %v, want %d", n, part, parts, err,
					len(got))
			}
			rows := count(l.Len())
			lines := all(t, l, rows)
			r.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
			for i, line := range all(t, l, rows) {
				if line != lines[rows[i]] {
					t.Fatalf("line %d alone is %q, want %q", rows[i], line, lines[rows[i]])
				}
			}
			got = append(got, lines...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d parts of %q:\ngot  %q\nwant %q", parts, contents, got, want)
		}
	}
}

// TestPartsAreThoseOfMXNet compares the ends of parts with a plain version of its rule.
func TestPartsAreThoseOfMXNet(t *testing.T) {
	file := "aa\nbbb\n\ncccc\nd\n"
	path := write(t, file)[0]
	for parts := 1; parts < 8; parts++ {
		step := (len(file) + parts - 1) / parts
		behind := func(at int) int {
			if at = min(at, len(file)); at == 0 || at == len(file) {
				return at
			}
			at += strings.IndexByte(file[at:], '\n') + 1
			for at < len(file) && file[at] == '\n' {
				at++
			}
			return at
		}
		for part := range parts {
			want := strings.Fields(file[behind(part*step):max(behind(part*step),
				behind((part+1)*step))])
			l := open(t, path, text.Options{Part: part, Parts: parts})
			if got := all(t, l, count(l.Len())); !slices.Equal(got, want) {
				t.Errorf("part %d of %d has %q, want %q", part, parts, got, want)
			}
		}
	}
}

// TestThreads reads many bytes on several threads.
func TestThreads(t *testing.T) {
	var b bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("y", 300))
	}
	l := open(t, write(t, b.String())[0], text.Options{Threads: 3})
	rows := count(l.Len())
	if n := l.Workers(rows); n != 3 {
		t.Errorf("%d threads, want 3", n)
	}
	if n := l.Workers(rows[:10]); n != 1 {
		t.Errorf("%d threads for few bytes, want 1", n)
	}
	want := strings.Split(strings.TrimSpace(b.String()), "\n")
	if got := all(t, l, rows); !slices.Equal(got, want) {
		t.Error("the lines differ")
	}
	err := l.Each(rows, func(_, i int, _ []byte) error {
		if i%1000 == 999 {
			return &text.Fault{Column: 7, Text: "broken"}
		}
		return nil
	})
	if err == nil || !strings.HasSuffix(err.Error(), "part-0:1000:7: broken") {
		t.Errorf("got %v, want the first fault", err)
	}
}

func TestOpenErrors(t *testing.T) {
	path := write(t, "1\n2\n")[0]
	for _, c := range []struct {
		names string
		o     text.Options
		want  string
	}{
		{path, text.Options{Part: 2, Parts: 2}, "part 2 of 2"},
		{path, text.Options{Part: -1}, "part -1 of 1"},
		{path + ";" + path + "-no", text.Options{}, "part-0-no"},
	} {
		if _, err := text.Open(c.names, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	l := open(t, path, text.Options{})
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	err := l.Each([]int{0, 1}, func(int, int, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "ends after 3 bytes, had 4") {
		t.Errorf("got %v for a file that was cut", err)
	}
}
