package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestCheck serves test images, and ends the server by SIGTERM meanwhile.
func TestCheck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send SIGTERM to itself")
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "localhost:0", "", 0, true); err != nil {
		t.Error(err)
	}
}

// TestMistakes sends requests that have no answer.
func TestMistakes(t *testing.T) {
	model, err := train(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBatcher(model, 4, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	server := httptest.NewServer(b.handler())
	defer server.Close()
	for body, want := range map[string]int{
		"":                   http.StatusBadRequest,
		`{"pixels": [1, 2]}`: http.StatusBadRequest,
		`{"pixels": "1"}`:    http.StatusBadRequest,
	} {
		r, err := http.Post(server.URL+"/classify", "application/json", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != want {
			t.Errorf("%q: status %d, want %d", body, r.StatusCode, want)
		}
	}
	if got := b.refused.Load(); got != 3 {
		t.Errorf("%d requests are refused, want 3", got)
	}
}
