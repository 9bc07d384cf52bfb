package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gomx/checkpoint"
	nd "gomx/ndarray"
	"gomx/predict"
)

// request is an image that waits for its answer.
type request struct {
	pixels []float32
	answer chan reply // has room for the answer
}

// reply is the answer to a request.
type reply struct {
	Class       int     `json:"class"`
	Probability float32 `json:"probability"`
	err         error
}

// batcher computes the answers of requests, several at a time. One goroutine, loop, takes requests
// from the queue.
type batcher struct {
	predictor *predict.Predictor
	most      int           // requests of a batch
	patience  time.Duration // for which the first request of a batch waits for others
	queue     chan request
	done      sync.WaitGroup

	answered, refused, failed, batches, waiting, nanoseconds atomic.Int64
}

func newBatcher(model *checkpoint.Model, most int, patience time.Duration) (*batcher, error) {
	p, err := predict.New(model, predict.Input("data", most, 1, side, side))
	if err != nil {
		return nil, err
	}
	b := &batcher{predictor: p, most: most, patience: patience, queue: make(chan request, 4*most)}
	b.done.Go(b.loop)
	return b, nil
}

// close waits for the loop to end. No handler runs any more.
func (b *batcher) close() {
	close(b.queue)
	b.done.Wait()
	b.predictor.Close()
}

// loop makes batches of the requests, until the queue is closed.
func (b *batcher) loop() {
	for first := range b.queue {
		batch := []request{first}
		late := time.After(b.patience)
		for open := true; open && len(batch) < b.most; {
			select {
			case r, ok := <-b.queue:
				if open = ok; ok {
					batch = append(batch, r)
				}
			case <-late:
				open = false
			}
		}
		b.compute(batch)
	}
}

// compute answers the requests of a batch.
func (b *batcher) compute(batch []request) {
	// The batch has always the same shape, so that the network is compiled once.
	pixels := make([]float32, b.most*side*side)
	for i, r := range batch {
		copy(pixels[i*side*side:], r.pixels)
	}
	var rows [][]float32
	out, err := b.predictor.Predict(context.Background(),
		nd.FromSlice(pixels, b.most, 1, side, side))
	if err == nil {
		rows, err = nd.RowsOf[float32](out)
	}
	b.batches.Add(1)
	for i, r := range batch {
		a := reply{err: err}
		if err == nil {
			for class, p := range rows[i] {
				if p > a.Probability {
					a.Class, a.Probability = class, p
				}
			}
		}
		r.answer <- a
	}
}

// handler serves the pages.
func (b *batcher) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /classify", b.classify)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", b.metrics)
	return mux
}

// classify answers one request.
func (b *batcher) classify(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	var in struct{ Pixels []float32 }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in)
	if err == nil && len(in.Pixels) != side*side {
		err = fmt.Errorf("%d pixels, want %d", len(in.Pixels), side*side)
	}
	if err != nil {
		b.refused.Add(1)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one := request{in.Pixels, make(chan reply, 1)}
	a := reply{err: errors.New("too many requests at the same time")}
	select {
	case b.queue <- one:
		a = <-one.answer
	default: // the queue is full: better an error at once than an answer too late
	}
	if a.err != nil {
		b.failed.Add(1)
		http.Error(w, a.err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if json.NewEncoder(w).Encode(a) == nil {
		b.answered.Add(1)
		b.nanoseconds.Add(int64(time.Since(begin)))
	}
}

// metrics writes the page for Prometheus, in its text format.
func (b *batcher) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, m := range []struct {
		name, kind, help string
		value            float64
	}{
		{"requests_total", "counter", "Requests that were answered.", float64(b.answered.Load())},
		{"refused_total", "counter", "Requests with a mistake.", float64(b.refused.Load())},
		{"failures_total", "counter", "Requests without an answer.", float64(b.failed.Load())},
		{"batches_total", "counter", "Runs of the network.", float64(b.batches.Load())},
		{"waiting", "gauge", "Requests that wait now.", float64(b.waiting.Load())},
		{"seconds_total", "counter", "Sum of the times of the answered requests.",
			float64(b.nanoseconds.Load()) / 1e9},
	} {
		fmt.Fprintf(w, "# HELP serve_%s %s\n# TYPE serve_%s %s\nserve_%s %g\n", m.name, m.help,
			m.name, m.kind, m.name, m.value)
	}
}
