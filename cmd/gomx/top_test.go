package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/kvstore"
	"gomx/kvstore/transport"
)

// serveStatus serves the status page of a process and returns its address.
func serveStatus(t *testing.T, st kvstore.Status) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(st)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// topSample is the status of a scheduler.
func topSample() kvstore.Status {
	return kvstore.Status{Node: "scheduler", View: 7, Ready: true, Seconds: 61,
		Members: []kvstore.StatusMember{
			{Node: "server 0", Incarnation: 1, Alive: true, Silent: 0.2, Clock: 3, Queue: 31400,
				Parked: 2, Waiting: 1},
			{Node: "server 1", Incarnation: 1, Silent: 12, Waiting: -1},
			{Node: "worker 0", Incarnation: 1, Alive: true, Clock: 5, Waiting: 1},
			{Node: "worker 1", Incarnation: 2, Alive: true, Clock: 3, Waiting: -1},
			{Node: "worker 2", Waiting: -1},
			{Node: "worker 3", Incarnation: 1, Alive: true, Left: true, Clock: 1, Waiting: -1},
		}, Shards: []kvstore.StatusShard{{Primary: 0, Backup: -1}, {Primary: -1, Backup: 0,
			Lost: true}}}
}

// topJob writes the folder of a job in which worker 0 is ahead and waits for worker 1, as server 0
// does; server 1 is dead.
func topJob(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, st := range map[string]kvstore.Status{
		"scheduler": topSample(),
		"worker 0": {Node: "worker 0", Ready: true, Seconds: 60,
			Transport: &transport.Stats{SentBytes: 3 << 20, ReceivedBytes: 1536, Stale: 2}},
	} {
		name = filepath.Join(dir, "status-"+strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(name, []byte(serveStatus(t, st)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A process that has died has left its address behind.
	if err := os.WriteFile(filepath.Join(dir, "status-server-1"), []byte("127.0.0.1:1"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTop(t *testing.T) {
	out, err := gomx(t, "top", "--once", topJob(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(out) {
		rows[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		"job up 1m1s, view 7, 2 shards: 1 without a second copy, 1 lost",
		"NODE STATE INCARNATION SILENT SHARDS CLOCK AHEAD HELD PARKED WAITS FOR",
		"server 0 alive 1 0.2s 1+1 3 - 30.7 KiB 2 worker 1",
		"server 1 dead 1 12.0s 0+0 0 - 0 B 0 -",
		"worker 0 alive 1 0.0s - 5 2 0 B 0 worker 1",
		"worker 1 alive 2 0.0s - 3 0 0 B 0 -",
		"worker 2 missing 0 0.0s - 0 - 0 B 0 -",
		"worker 3 left 1 0.0s - 1 0 0 B 0 -",
		"worker 0 true 60s 3.0 MiB 1.5 KiB 2",
	} {
		if !rows[want] {
			t.Errorf("no row %q in\n%s", want, out)
		}
	}
}

func TestTopForMachines(t *testing.T) {
	out, err := gomx(t, "top", "--once", "-o", "json", topJob(t))
	var list []kvstore.Status
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 2 ||
		list[0].Node != "scheduler" || len(list[0].Members) != 6 {
		t.Errorf("got %q, %v", out, err)
	}
	addr := serveStatus(t, kvstore.Status{Node: "server 1", Ready: true})
	if out, err = gomx(t, "top", "--once", "http://"+addr+"/"); err != nil ||
		!strings.Contains(out, "server 1") {
		t.Errorf("by address: got %q, %v", out, err)
	}
}

func TestTopFailures(t *testing.T) {
	if _, err := gomx(t, "top", "--once", t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "found no address of a process") {
		t.Errorf("an empty folder: got %v", err)
	}
	if _, err := gomx(t, "top", "--once", "127.0.0.1:1"); err == nil ||
		!strings.Contains(err.Error(), "no process answers") {
		t.Errorf("nobody there: got %v", err)
	}
	for _, args := range [][]string{{"top", "-o", "xml"}, {"top", "--every", "0s"}} {
		if _, err := gomx(t, args...); err == nil || exitCode(err) != exitUsage {
			t.Errorf("%v: got %v, want a mistake in the arguments", args, err)
		}
	}
}
