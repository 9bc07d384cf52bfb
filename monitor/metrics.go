package monitor

import (
	"net/http"
	"reflect"
	"strconv"

	"gomx/kvstore"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler returns the page of metrics of a process: the metrics of Table that its role has, and the
// client library's own about Go and the process. status is called for every request.
func Handler(status func() kvstore.Status) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{status: status, known: map[string]known{}},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// collector turns the status of a process into metrics.
type collector struct {
	status func() kvstore.Status
	known  map[string]known // by name without gomx_; filled before the first request
}

type known struct {
	Metric
	d *prometheus.Desc
}

// Describe implements prometheus.Collector. Each role has a part of the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range Table() {
		k := known{m, m.desc()}
		c.known[m.Name] = k
		ch <- k.d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.status()
	put := func(name string, value float64, labels ...string) {
		k, ok := c.known["gomx_"+name]
		if !ok {
			if k, ok = c.known["gomx_"+name+"_total"]; !ok {
				return
			}
		}
		ch <- prometheus.MustNewConstMetric(k.d, k.kind, value,
			append([]string{st.Node}, labels...)...)
	}
	put("up", 1)
	put("ready", bit(st.Ready))
	put("view", float64(st.View))
	put("incarnation", float64(st.Incarnation))
	put("seconds", st.Seconds)
	figure := func(name string, value float64) { put(name, value) }
	fields("", reflect.ValueOf(st.Stats), figure)
	if st.Transport != nil {
		fields("transport_", reflect.ValueOf(*st.Transport), figure)
	}
	for i := range st.Members {
		m := &st.Members[i]
		put("member_alive", bit(m.Alive), m.Node)
		put("member_silent_seconds", m.Silent, m.Node)
		put("member_clock", float64(m.Clock), m.Node)
		put("member_queue_bytes", float64(m.Queue), m.Node)
		put("member_parked_pulls", float64(m.Parked), m.Node)
		put("member_waits_for_worker", float64(m.Waiting), m.Node)
		if m.Works() {
			put("member_ahead_clocks", float64(st.Ahead(m)), m.Node)
		}
	}
	for i, s := range st.Shards {
		shard := strconv.Itoa(i)
		put("shard_epoch", float64(s.Epoch), shard)
		put("shard_primary", float64(s.Primary), shard)
		put("shard_backup", float64(s.Backup), shard)
		put("shard_in_sync", bit(s.InSync), shard)
		put("shard_lost", bit(s.Lost), shard)
		put("shard_swapped", bit(s.Swapped), shard)
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
