//go:build cgo

package k8s_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/launch"
	"gomx/launch/via/k8s"
)

// config is a job of 2 workers and 2 servers.
func config() k8s.Config {
	return k8s.Config{Name: "mnist", Namespace: "training", Image: "registry/gomx:1",
		Program: []string{"mnist", "--lr", "0.1", "a: b"}, Workers: 2, Servers: 2,
		Env: []string{"PS_VERBOSE=1"}, Job: launch.Environ{Replicas: 2, Threads: 1},
		Volumes: []k8s.Volume{{Claim: "results", Path: "/results"}}}
}

// TestRender wants secrets in the Secret only, and the same objects in the folder.
func TestRender(t *testing.T) {
	r, err := k8s.Render(config())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := r.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(text.String(), "---\n")
	if len(parts) != 3 {
		t.Fatalf("%d documents, want 3", len(parts))
	}
	for i, want := range []string{"kind: Service", "kind: Secret", "kind: Job"} {
		if !strings.Contains(parts[i], want) {
			t.Errorf("document %d lacks %q:\n%s", i, want, parts[i])
		}
	}
	for _, want := range []string{"completions: 5", "completionMode: Indexed",
		"subdomain: mnist", "claimName: results",
		"- name: GOMX_SCHEDULER\n          value: \"tcp://mnist-0.mnist:9091\""} {
		if !strings.Contains(parts[2], want) {
			t.Errorf("the job lacks %q:\n%s", want, parts[2])
		}
	}
	dir := filepath.Join(t.TempDir(), "folder")
	if err := r.WriteFolder(dir); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "keys", "worker-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(string(key), `"`)[7]
	for name, wanted := range map[string]bool{"keys/worker-1.json": true, "keys/public.json": false,
		"job.yaml": false, "service.yaml": false, "kustomization.yaml": false} {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(b), secret) != wanted {
			t.Errorf("%s: %v, has the secret: %t, want %t", name, err, !wanted, wanted)
		}
		if st, err := os.Stat(path); err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has permissions %v, want none for others", name, st.Mode())
		}
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "job.yaml")); string(b) != parts[2] {
		t.Error("the job of the folder differs from the job of the stream")
	}
}

func TestRenderMistakes(t *testing.T) {
	for name, change := range map[string]func(c *k8s.Config){
		"name":      func(c *k8s.Config) { c.Name = "Mnist_1" },
		"namespace": func(c *k8s.Config) { c.Namespace = "-" },
		"image":     func(c *k8s.Config) { c.Image = "" },
		"program":   func(c *k8s.Config) { c.Program = nil },
		"workers":   func(c *k8s.Config) { c.Workers = 0 },
		"variable":  func(c *k8s.Config) { c.Env = []string{"X"} },
	} {
		c := config()
		change(&c)
		if _, err := k8s.Render(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
	for _, text := range []string{"", "claim", "claim:", "claim:relative", ":/path", "A:/path"} {
		if v, err := k8s.ParseVolume(text); err == nil {
			t.Errorf("volume %q: got %+v, want an error", text, v)
		}
	}
}
