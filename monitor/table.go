package monitor

import (
	"reflect"
	"strings"

	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/transport"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Help   string
	Labels []string // beside node
	kind   prometheus.ValueType
}

// Counter reports whether the values of the metric only grow.
func (m Metric) Counter() bool { return m.kind == prometheus.CounterValue }

// desc is the description that the client library wants.
func (m Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, append([]string{"node"}, m.Labels...), nil)
}

// gauge and counter make entries of the table.
func gauge(name, help string, labels ...string) Metric {
	return Metric{"gomx_" + name, help, labels, prometheus.GaugeValue}
}

func counter(name, help string) Metric {
	return Metric{"gomx_" + name + "_total", help, nil, prometheus.CounterValue}
}

// fixed are the metrics that no struct of figures has.
var fixed = []Metric{
	gauge("up", "1 while the process lives."),
	gauge("ready", "1 when the process has its place in the job."),
	gauge("view", "Number of the view that the process knows."),
	gauge("incarnation", "Number of the process among all processes of the job."),
	gauge("seconds", "Seconds since the process started."),
	counter("barriers", "Barriers that all workers have passed."),
	gauge("member_alive", "1 if the scheduler hears of the process.", "member"),
	gauge("member_silent_seconds", "Seconds since the scheduler heard of the process.", "member"),
	gauge("member_clock", "Rounds that the process has begun.", "member"),
	gauge("member_ahead_clocks", "Rounds that a worker is ahead of the slowest one.", "member"),
	gauge("member_queue_bytes", "Bytes that a server holds for workers of lower ranks.", "member"),
	gauge("member_parked_pulls", "Pulls that wait at a server.", "member"),
	gauge("member_waits_for_worker",
		"Rank of the worker without which the oldest round cannot end, -1 if none.", "member"),
	gauge("shard_epoch", "Number of changes of the shard's primary or backup.", "shard"),
	gauge("shard_primary", "Rank of the server that leads the shard, -1 if none.", "shard"),
	gauge("shard_backup", "Rank of the server with the second copy, -1 if none.", "shard"),
	gauge("shard_in_sync", "1 if the second copy may take over.", "shard"),
	gauge("shard_lost", "1 if no copy is left.", "shard"),
	gauge("shard_swapped", "1 while the two copies change places.", "shard"),
}

// helps are the meanings of the figures of servers, workers and transports, by the name of the
// field; servers and workers share some. A meaning that begins with "=" is of a gauge.
var helps = map[string]string{
	"pushes":     "Pushes received by a server, or committed for a worker.",
	"duplicates": "Pushes that a server received again.",
	"early":      "Pushes that a server dropped because they came before one that they follow.",
	"late":       "Pushes whose round was closed without them.",
	"rounds":     "Rounds that a server has closed.",
	"entries":    "Log entries that a server has applied, as primary and as backup.",
	"pulls":      "Pulls answered by a server, or ended for a worker.",
	"rejected":   "Messages that a server refused with a reason.",
	"refused":    "Messages that a server dropped because they make no sense.",
	"held": "=Bytes that a server holds because a worker of a lower rank has not " +
		"contributed.",
	"parked":     "=Pulls that wait at a server.",
	"memory":     "=Bytes of values and rounds at a server.",
	"log_length": "=Log entries of a server that are not yet on all copies.",
	"resends":    "Messages that a worker sent again.",
	"stale":      "Answers that a worker dropped because it had seen a later version.",
	"calls":      "=Calls of a worker that have not ended.",
	"flying":     "=Pushes of a worker that are not committed.",

	"transport_sent":           "Messages sent.",
	"transport_sent_bytes":     "Bytes of the payloads of sent messages.",
	"transport_received":       "Messages received.",
	"transport_received_bytes": "Bytes of the payloads of received messages.",
	"transport_shared":         "Sent messages whose payload went through shared memory.",
	"transport_refused":        "Sends that failed because a queue was full or a node unreachable.",
	"transport_garbage":        "Received messages that are not valid.",
	"transport_foreign":        "Received messages of another job.",
	"transport_imposter": "Received messages in the name of another node than the " +
		"authenticated one.",
	"transport_stale": "Received messages of a process that has been replaced.",
	"transport_forged": "Encrypted connections ended by a record that the peer did not " +
		"send next.",
	"transport_truncated": "Encrypted connections that broke without a goodbye.",
	"transport_unknown": "Handshakes that failed, most often for lack of a known " +
		"certificate.",
}

// ofField is the metric of a figure, and false for a figure that has no meaning in helps.
func ofField(name string) (Metric, bool) {
	help, known := helps[name]
	if text, ok := strings.CutPrefix(help, "="); ok {
		return gauge(name, text), known
	}
	return counter(name, help), known
}

// fields calls f with the names of the numbers of a struct or a map, in lower case, and the
// numbers.
func fields(prefix string, v reflect.Value, f func(name string, value float64)) {
	number := func(name string, v reflect.Value) {
		switch {
		case v.CanUint():
			f(prefix+snake(name), float64(v.Uint()))
		case v.CanInt():
			f(prefix+snake(name), float64(v.Int()))
		case v.CanFloat():
			f(prefix+snake(name), v.Float())
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			number(v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			number(it.Key().String(), it.Value())
		}
	}
}

// snake writes SentBytes as sent_bytes.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Table returns all metrics of gomx's processes.
func Table() []Metric {
	list := append([]Metric(nil), fixed...)
	seen := map[string]bool{}
	add := func(name string, _ float64) {
		if m, _ := ofField(name); !seen[name] {
			seen[name] = true
			list = append(list, m)
		}
	}
	fields("", reflect.ValueOf(server.Stats{}), add)
	fields("", reflect.ValueOf(worker.Stats{}), add)
	fields("transport_", reflect.ValueOf(transport.Stats{}), add)
	return list
}
