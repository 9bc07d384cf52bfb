package monitor_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gomx/monitor"

	"go.yaml.in/yaml/v2"
)

// The files that are tested here.
const (
	rulesFile     = "../deploy/prometheus/gomx.rules.yml"
	dashboardFile = "../deploy/grafana/gomx.json"
)

// rules is the form of a file of rules: no other fields are allowed.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for,omitempty"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

var (
	metricName = regexp.MustCompile(`\b(gomx|process|go)_[a-z0-9_]+\b`)
	duration   = regexp.MustCompile(`^\d+[smh]$`)
	variable   = regexp.MustCompile(`\$labels\.([a-z]+)`)
)

// exporters are the metrics of the client library that the files use.
var exporters = []string{"process_resident_memory_bytes"}

// metrics are the names of all metrics that a process has.
func metrics() map[string]bool {
	m := map[string]bool{}
	for _, x := range monitor.Table() {
		m[x.Name] = true
	}
	for _, x := range exporters {
		m[x] = true
	}
	return m
}

// checkExpr wants an expression to name metrics that exist, with brackets in pairs, and counters
// only inside of rates.
func checkExpr(t *testing.T, where, expr string) {
	t.Helper()
	names := metricName.FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s: %q names no metric", where, expr)
	}
	known := metrics()
	for _, n := range names {
		if !known[n] {
			t.Errorf("%s: %q names %s, which no process has", where, expr, n)
		}
		if strings.HasSuffix(n, "_total") &&
			!regexp.MustCompile(`(rate|increase)\(`+n).MatchString(expr) {
			t.Errorf("%s: %q takes the counter %s without a rate", where, expr, n)
		}
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			t.Errorf("%s: %q has brackets without a partner", where, expr)
		}
	}
}

func TestRules(t *testing.T) {
	b, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var r rules
	if err := yaml.UnmarshalStrict(b, &r); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range r.Groups {
		for _, a := range g.Rules {
			n++
			checkExpr(t, a.Alert, a.Expr)
			if !strings.HasPrefix(a.Alert, "Gomx") || a.For != "" && !duration.MatchString(a.For) ||
				!slices.Contains([]string{"warning", "critical"}, a.Labels["severity"]) ||
				a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
				t.Errorf("alert %q lacks a part or has a wrong one", a.Alert)
			}
			// A label in the text must be one that the expression keeps.
			for _, m := range variable.FindAllStringSubmatch(a.Annotations["summary"], -1) {
				if l := m[1]; strings.Contains(a.Expr, "by (") && !strings.Contains(a.Expr, l) {
					t.Errorf("alert %q: the expression keeps no label %s", a.Alert, l)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("%d alerts, want at least 10", n)
	}
}

// TestPromtool lets Prometheus' own program check the rules. It runs by make monitor-check.
func TestPromtool(t *testing.T) {
	if !named() {
		t.Skip("it runs when -run names it, as make monitor-check does")
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: apt-get install prometheus")
	}
	if out, err := exec.Command(path, "check", "rules", rulesFile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestDashboard(t *testing.T) {
	b, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title, UID string
		Templating struct {
			List []struct{ Name, Query string }
		}
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat, RefID string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID != "gomx" || len(d.Panels) < 10 {
		t.Errorf("dashboard %q with %d panels", d.UID, len(d.Panels))
	}
	for _, v := range d.Templating.List {
		if strings.HasPrefix(v.Query, "label_values") {
			checkExpr(t, "variable "+v.Name, v.Query)
		}
	}
	used, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if used[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q has the number of another one, no title or no query", p.ID,
				p.Title)
		}
		used[p.ID] = true
		for _, q := range p.Targets {
			checkExpr(t, "panel "+p.Title, q.Expr)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("panels %q and %q are at the same place", taken[at], p.Title)
				}
				taken[at] = p.Title
			}
		}
	}
}
