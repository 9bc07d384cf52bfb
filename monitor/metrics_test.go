package monitor_test

import (
	"flag"
	"net/http/httptest"
	"strings"
	"testing"

	"gomx/kvstore"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/transport"
	"gomx/monitor"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// named reports whether the flag -run names tests.
func named() bool { return flag.Lookup("test.run").Value.String() != "" }

// read returns the metrics of a page, by name.
func read(t *testing.T, st kvstore.Status) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	monitor.Handler(func() kvstore.Status { return st }).ServeHTTP(w,
		httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// value finds a metric by its labels, "name=value", in any order.
func value(t *testing.T, f *dto.MetricFamily, labels ...string) float64 {
	t.Helper()
	for _, m := range f.GetMetric() {
		found := 0
		for _, l := range m.GetLabel() {
			for _, want := range labels {
				if want == l.GetName()+"="+l.GetValue() {
					found++
				}
			}
		}
		if found == len(labels) && len(m.GetLabel()) == found {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Errorf("%s has no metric with the labels %q", f.GetName(), labels)
	return 0
}

func TestMetrics(t *testing.T) {
	server := read(t, kvstore.Status{Node: "server 1", Ready: true, View: 7,
		Stats:     server.Stats{Pushes: 1 << 40, Held: 9, Parked: 3},
		Transport: &transport.Stats{SentBytes: 11, Forged: 2}})
	for _, c := range []struct {
		name string
		want float64
		kind dto.MetricType
	}{
		{"gomx_up", 1, dto.MetricType_GAUGE}, {"gomx_ready", 1, dto.MetricType_GAUGE},
		{"gomx_view", 7, dto.MetricType_GAUGE},
		{"gomx_pushes_total", 1 << 40, dto.MetricType_COUNTER},
		{"gomx_held", 9, dto.MetricType_GAUGE}, {"gomx_parked", 3, dto.MetricType_GAUGE},
		{"gomx_transport_sent_bytes_total", 11, dto.MetricType_COUNTER},
		{"gomx_transport_forged_total", 2, dto.MetricType_COUNTER},
	} {
		if got := value(t, server[c.name], "node=server 1"); got != c.want ||
			server[c.name].GetType() != c.kind {
			t.Errorf("%s is %v of type %s, want %v of type %s", c.name, got,
				server[c.name].GetType(), c.want, c.kind)
		}
	}
	if server["go_goroutines"] == nil || server["process_resident_memory_bytes"] == nil {
		t.Error("the page lacks the metrics of Go and of the process")
	}
	scheduler := read(t, kvstore.Status{Node: "scheduler", Stats: map[string]uint64{"Barriers": 4},
		Members: []kvstore.StatusMember{
			{Node: "server 0", Alive: true, Clock: 12, Waiting: 1},
			{Node: "worker 0", Alive: true, Clock: 12}, {Node: "worker 1", Alive: true, Clock: 9},
			{Node: "worker 2", Clock: 2}},
		Shards: []kvstore.StatusShard{{Epoch: 3, Primary: 0, Backup: -1, Lost: true}}})
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"gomx_member_alive", "member=worker 2", 0}, {"gomx_member_alive", "member=worker 1", 1},
		{"gomx_member_ahead_clocks", "member=worker 0", 3},
		{"gomx_member_ahead_clocks", "member=worker 1", 0},
		{"gomx_member_waits_for_worker", "member=server 0", 1},
		{"gomx_shard_lost", "shard=0", 1}, {"gomx_shard_backup", "shard=0", -1},
		{"gomx_shard_epoch", "shard=0", 3},
	} {
		if got := value(t, scheduler[c.name], "node=scheduler", c.label); got != c.want {
			t.Errorf("%s of %s is %v, want %v", c.name, c.label, got, c.want)
		}
	}
	if got := value(t, scheduler["gomx_barriers_total"], "node=scheduler"); got != 4 {
		t.Errorf("%v barriers, want 4", got)
	}
	for name := range scheduler {
		if strings.HasPrefix(name, "gomx_") && !metrics()[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// TestEveryFigureHasAMeaning wants a text for every number that a process shows.
func TestEveryFigureHasAMeaning(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range monitor.Table() {
		if m.Help == "" || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%s has the help %q, want a sentence: see helps", m.Name, m.Help)
		}
		if m.Counter() != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s: counters, and no others, end with _total", m.Name)
		}
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
	}
}
