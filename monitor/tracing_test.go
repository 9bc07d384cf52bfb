package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	"gomx/monitor"
	nd "gomx/ndarray"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// traced runs a job of a scheduler, a server and a worker that makes steps with two keys, and
// returns the worker's result. traces returns the traces of a node.
func traced(t *testing.T, steps int, traces func(n wire.Node) *monitor.Traces) []float32 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network := mem.NewNetwork(1)
	config := func(n wire.Node) (kvstore.JobConfig, func()) {
		c := kvstore.JobConfig{Node: n, Scheduler: "mem:scheduler", ID: 1, Workers: 1, Servers: 1,
			TraceEvery: 2, Open: func(c transport.Config) (transport.Endpoint, error) {
				return mem.Open(network, c)
			}}
		tr := traces(n)
		if tr == nil {
			return c, func() {}
		}
		c.Tracer = tr
		return c, func() {
			if err := tr.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	var wg sync.WaitGroup
	for _, n := range []wire.Node{{Role: wire.Scheduler}, {Role: wire.Server}} {
		wg.Go(func() {
			c, end := config(n)
			defer end()
			if err := kvstore.Serve(ctx, c); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	c, end := config(wire.Node{Role: wire.Worker})
	out := nd.Zeros(nd.Shape{40000})
	job, err := kvstore.Join(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := kvstore.Open(kvstore.WithJob(ctx, job), "dist_sync")
	if err != nil {
		t.Fatal(err)
	}
	one, small := nd.Ones(nd.Shape{40000}), nd.Ones(nd.Shape{3})
	err = errors.Join(s.Init(ctx, "large", one), s.Init(ctx, "small", small))
	for range steps {
		err = errors.Join(err, s.PushPull("large", 0, []*nd.Array{one}, []*nd.Array{out}),
			s.PushPull("small", 0, []*nd.Array{small}, []*nd.Array{nd.Zeros(nd.Shape{3})}))
		if err == nil {
			err = out.Wait(ctx)
		}
	}
	if err = errors.Join(err, s.Close(), job.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	end()
	wg.Wait()
	values, err := out.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestTraceOfAStep looks at the spans of a step in two processes: they are in one trace, and those
// of the server are below those of the worker.
func TestTraceOfAStep(t *testing.T) {
	var mu sync.Mutex
	exporters := map[wire.Role]*keeper{}
	plain := traced(t, 4, func(wire.Node) *monitor.Traces { return nil })
	got := traced(t, 4, func(n wire.Node) *monitor.Traces {
		mu.Lock()
		defer mu.Unlock()
		exporters[n.Role] = &keeper{InMemoryExporter: tracetest.NewInMemoryExporter()}
		return monitor.NewTraces(n, 1, exporters[n.Role])
	})
	if !slices.Equal(got, plain) {
		t.Error("the values with traces differ from the values without")
	}
	worker, server := exporters[wire.Worker].spans, exporters[wire.Server].spans
	if n := len(exporters[wire.Scheduler].spans); n > 0 {
		t.Errorf("the scheduler has %d spans, want none", n)
	}
	traces := map[string]map[string]int{} // number of spans by trace and name
	ids := map[string]string{}            // name by span
	count := func(list tracetest.SpanStubs, prefix string) {
		for _, s := range list {
			id := s.SpanContext.TraceID().String()
			if traces[id] == nil {
				traces[id] = map[string]int{}
			}
			traces[id][prefix+s.Name]++
			ids[s.SpanContext.SpanID().String()] = prefix + s.Name
			if s.EndTime.Before(s.StartTime) {
				t.Errorf("%s ends %s before it begins", s.Name, s.StartTime.Sub(s.EndTime))
			}
		}
	}
	count(worker, "worker: ")
	count(server, "server: ")
	if len(traces) != 2 {
		t.Errorf("%d traces, want 2 of the 4 steps", len(traces))
	}
	for id, names := range traces {
		if names["worker: step"] != 1 || names["worker: until the first push"] != 1 ||
			names["worker: push and pull"] != 2 {
			t.Errorf("trace %s has the spans %v", id, names)
		}
		inServer := 0
		for name, n := range names {
			if strings.HasPrefix(name, "server: ") {
				inServer += n
			}
		}
		if inServer < 2 {
			t.Errorf("trace %s has the spans %v, want two or more of the server", id, names)
		}
	}
	for _, s := range server {
		if above := ids[s.Parent.SpanID().String()]; !strings.HasPrefix(above, "worker: ") {
			t.Errorf("%s of the server is below %q, want a span of the worker", s.Name, above)
		}
	}
}

// keeper keeps spans beyond the end of the exporter.
type keeper struct {
	*tracetest.InMemoryExporter
	spans tracetest.SpanStubs
}

func (k *keeper) Shutdown(ctx context.Context) error {
	k.spans = k.GetSpans()
	return k.InMemoryExporter.Shutdown(ctx)
}

// TestTracesInFiles reads the files of a job.
func TestTracesInFiles(t *testing.T) {
	dir := t.TempDir()
	traced(t, 2, func(n wire.Node) *monitor.Traces {
		tr, err := monitor.OpenTraces(t.Context(), dir, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	})
	ids := map[string]bool{}
	for _, name := range []string{"worker-0.json", "server-0.json"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for d := json.NewDecoder(f); d.More(); n++ {
			var s struct {
				Name        string
				SpanContext struct{ TraceID string }
			}
			if err := d.Decode(&s); err != nil {
				t.Fatal(err)
			}
			ids[s.SpanContext.TraceID] = true
		}
		if n == 0 {
			t.Errorf("%s has no span", name)
		}
	}
	if len(ids) != 1 {
		t.Errorf("the files are about %d traces, want 1", len(ids))
	}
}

// TestTracesByOTLP exports to a small collector.
func TestTracesByOTLP(t *testing.T) {
	var mu sync.Mutex
	received := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		received[r.URL.Path] += len(b)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	traced(t, 2, func(n wire.Node) *monitor.Traces {
		tr, err := monitor.OpenTraces(t.Context(), monitor.OTLP, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	})
	if len(received) != 1 || received["/v1/traces"] == 0 {
		t.Errorf("the collector received %v, want bytes at /v1/traces", received)
	}
}
