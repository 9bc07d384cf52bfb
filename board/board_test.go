package board_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gomx/board"
	"gomx/runs"
)

// record writes a run with some curves below a folder.
func record(tb testing.TB, dir, name string, steps int, opts ...runs.Option) {
	tb.Helper()
	r, err := runs.Open(filepath.Join(dir, name), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	loss := r.Tag("train/loss")
	for step := range int64(steps) {
		r.Add(step+1, runs.Point{Tag: loss, Value: 1 / float64(step+1)})
	}
	r.Score("validation/accuracy", 0.5)
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
}

// serve starts a board.
func serve(tb testing.TB, c board.Config) *httptest.Server {
	tb.Helper()
	b, err := board.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewServer(b)
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
		s.Close()
	})
	return s
}

// fetch reads a page.
func fetch(tb testing.TB, url string) (int, string) {
	tb.Helper()
	resp, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestAPI(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "a", 5, runs.Hyper(map[string]any{"lr": 0.5}))
	record(t, dir, "deep/b", 5000)
	s := serve(t, board.Config{Dir: dir, Jobs: []string{}})
	_, text := fetch(t, s.URL+"/api/runs")
	var list []struct {
		Name   string
		Steps  int
		Ended  bool
		Hyper  map[string]any
		Scores map[string]float64
		Curves []string
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Name != "deep/b" || list[1].Name != "a" || list[0].Steps != 5000 ||
		list[1].Hyper["lr"] != 0.5 || list[1].Scores["validation/accuracy"] != 0.5 ||
		!list[0].Ended || list[0].Curves[0] != "train/loss" {
		t.Errorf("runs %s", text)
	}
	_, text = fetch(t, s.URL+"/api/curves?run=a&run=deep/b&name=train/loss&max=100")
	var curves []struct {
		Run   string
		Step  []int
		Value []float64
		All   int
	}
	if err := json.Unmarshal([]byte(text), &curves); err != nil {
		t.Fatal(err)
	}
	if len(curves) != 2 || len(curves[0].Step) != 5 || curves[0].Value[4] != 0.2 ||
		curves[1].All != 5000 || len(curves[1].Step) > 100 || curves[1].Step[0] != 1 ||
		curves[1].Step[len(curves[1].Step)-1] != 5000 {
		t.Errorf("curves %.300s", text)
	}
	for _, page := range []string{"/api/part?run=none&part=graph", "/api/part?run=a&part=none",
		"/api/none", "/none.js"} {
		if code, _ := fetch(t, s.URL+page); code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", page, code)
		}
	}
	if code, _ := fetch(t, s.URL+"/api/curves?max=1"); code != http.StatusBadRequest {
		t.Errorf("max=1: %d, want 400", code)
	}
	for _, page := range []string{"/", "/app.js", "/vendor/uplot.js", "/vendor/LICENSE"} {
		if code, text := fetch(t, s.URL+page); code != http.StatusOK || text == "" {
			t.Errorf("%s: %d", page, code)
		}
	}
}

// Spikes survive the thinning of curves, and NaN does not break the page.
func TestThinning(t *testing.T) {
	dir := t.TempDir()
	r, err := runs.Open(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	for step := range int64(10000) {
		v := 1.0
		switch step {
		case 3333:
			v = 99
		case 7777:
			v = math.NaN()
		}
		r.Scalar("loss", step, v)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, board.Config{Dir: dir, Jobs: []string{}})
	_, text := fetch(t, s.URL+"/api/curves?run=x&name=loss&max=50")
	if !strings.Contains(text, ",99,") || !strings.Contains(text, ",null,") || len(text) > 4000 {
		t.Errorf("got %s", text)
	}
}

// The board is read-only, and for the loopback or for the holders of its token alone.
func TestAccess(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "a", 1)
	open, closed := serve(t, board.Config{Dir: dir, Jobs: []string{}}),
		serve(t, board.Config{Dir: dir, Jobs: []string{}, Token: "secret"})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for _, c := range []struct {
		method, url, host, cookie string
		want                      int
	}{
		{"GET", open.URL, "", "", 200},
		{"HEAD", open.URL, "", "", 200},
		{"POST", open.URL + "/api/runs", "", "", 405},
		{"DELETE", open.URL + "/api/runs", "", "", 405},
		{"GET", open.URL, "evil.example", "", 403},
		{"GET", open.URL + "/api/runs", "evil.example:80", "", 403},
		{"GET", open.URL, "[::1]:80", "", 200},
		{"GET", closed.URL, "", "", 403},
		{"GET", closed.URL + "/api/runs", "", "wrong", 403},
		{"GET", closed.URL + "/?token=wrong", "", "", 403},
		{"GET", closed.URL + "/?token=secret", "", "", 303},
		{"GET", closed.URL + "/api/runs?token=secret", "", "", 200},
		{"GET", closed.URL + "/api/runs", "any.example", "secret", 200},
		{"GET", open.URL + "/../../../etc/passwd", "", "", 404},
	} {
		req, err := http.NewRequest(c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.cookie != "" {
			req.AddCookie(&http.Cookie{Name: "gomx-board", Value: c.cookie})
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.StatusCode; got != c.want && (c.want != 404 || got != 301 && got != 307) {
			t.Errorf("%s %s, host %q, cookie %q: %d, want %d", c.method, c.url, c.host, c.cookie,
				got, c.want)
		}
	}
	for _, bad := range []board.Config{{}, {Dir: filepath.Join(dir, "none")},
		{Dir: filepath.Join(dir, "a", "events.gomx")}, {Dir: dir, Every: -1}} {
		if _, err := board.New(bad); err == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
}

// The stream tells of a run that grows, and of one that begins.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "a", 1)
	s := serve(t, board.Config{Dir: dir, Jobs: []string{}, Every: 10 * time.Millisecond})
	resp, err := http.Get(s.URL + "/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: {") && strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ends before %s: %v", want, lines.Err())
	}
	next(`"a":`)
	record(t, dir, "b", 1)
	next(`"b":`)
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	next(`{"b":`)
}

// BenchmarkCurves is one chart of 100 runs with 10,000 points each.
func BenchmarkCurves(b *testing.B) {
	dir := b.TempDir()
	url := "/api/curves?name=train/loss&max=300"
	for i := range 100 {
		record(b, dir, fmt.Sprint("run", i), 10000)
		url += fmt.Sprint("&run=run", i)
	}
	s := serve(b, board.Config{Dir: dir, Jobs: []string{}})
	for b.Loop() {
		if code, _ := fetch(b, s.URL+url); code != http.StatusOK {
			b.Fatal(code)
		}
	}
}
