package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestTurns measures a line beside a peer that has it and one that has not, and reports an unknown
// peer.
func TestTurns(t *testing.T) {
	const script = `while read line; do printf '%s\t8\timages/s\n' "$line"; done`
	var out bytes.Buffer
	c := &Config{Suite: "s", Out: &out, Rounds: 2,
		Peers: []Peer{fakePeer(t, "ort", script), fakePeer(t, "torch", script)}}
	turns, err := startTurns(t.Context(), c, "narrow.py", []string{"ort", "torch"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer turns.close()
	turns.has = func(peer, line string) bool { return peer == "ort" && line == "s.a" }
	turns.least = 20 * time.Millisecond
	calls := 0
	run := func() error {
		calls++
		time.Sleep(time.Millisecond)
		return nil
	}
	for _, line := range []string{"s.a", "s.b"} {
		if err := turns.measure(t.Context(), call{line, "images/s", 4, run}); err != nil {
			t.Fatal(err)
		}
	}
	turns.all.print(&out, "s")
	if calls < 8 {
		t.Errorf("%d calls in turns of 20 ms, want more", calls)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "s.a\t") ||
		!strings.HasSuffix(lines[0], "\timages/s\tort") || !strings.HasPrefix(lines[1], "s.b\t") ||
		!strings.HasSuffix(lines[1], "\t-\t-\timages/s\t-") ||
		!strings.HasPrefix(lines[3], "s.geomean\t") {
		t.Errorf("got\n%s\nwant s.a beside ort and s.b alone", out.String())
	}
	c.Peers = append(c.Peers, fakePeer(t, "mxnet", script))
	_, err = startTurns(t.Context(), c, "narrow.py", []string{"ort", "torch"}, nil)
	if err == nil || !strings.Contains(err.Error(), "no script for peer mxnet, only for ort, torch") {
		t.Errorf("error %v, want one that names mxnet and the known peers", err)
	}
}

// TestNarrowLines checks that every peer of the suite narrow computes in a type of a line.
func TestNarrowLines(t *testing.T) {
	for peer, types := range narrowPeers {
		for _, typ := range types {
			if narrowErrors[typ] == 0 {
				t.Errorf("%s computes in %v, of which the suite has no lines", peer, typ)
			}
		}
	}
}
