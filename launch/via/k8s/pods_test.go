//go:build cgo && linux

package k8s_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/daemons"
	"gomx/internal/hosts"
	"gomx/launch/via/k8s"
)

// documents are the objects of a stream, as the test reads them back.
type documents struct {
	secret struct{ StringData map[string]string }
	job    struct {
		Spec struct {
			Completions int
			Template    struct{ Spec podSpec }
		}
	}
}

type podSpec struct {
	Subdomain       string
	SecurityContext struct{ RunAsUser, RunAsGroup, FsGroup int }
	Containers      []struct {
		Command      []string
		Env          []struct{ Name, Value string }
		VolumeMounts []struct{ Name, MountPath string }
	}
	Volumes []struct {
		Name   string
		Secret *struct {
			SecretName  string
			DefaultMode os.FileMode
		}
	}
}

// read lets a parser of YAML that is not ours read the stream.
func read(t *testing.T, text string) (d documents) {
	t.Helper()
	cmd := exec.Command(daemons.Python(t), "-c",
		"import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	for i, target := range []any{1: &d.secret, 2: &d.job} {
		if target == nil {
			continue
		}
		if err := json.Unmarshal(list[i], target); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func render(t *testing.T, c k8s.Config) (*k8s.Rendered, string) {
	t.Helper()
	r, err := k8s.Render(c)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := r.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

// TestK8sValidates checks the objects against the schemas of Kubernetes, and that the validator
// finds a fault.
func TestK8sValidates(t *testing.T) {
	hosts.Named(t)
	python := daemons.Python(t)
	r, text := render(t, config())
	dir := t.TempDir()
	if err := r.WriteFolder(dir); err != nil {
		t.Fatal(err)
	}
	stream := filepath.Join(dir, "stream.yaml")
	damaged := filepath.Join(dir, "damaged.yaml")
	for path, text := range map[string]string{stream: text,
		damaged: strings.Replace(text, "completions: 5", "completion: five", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		ok   bool
	}{{stream, true}, {filepath.Join(dir, "job.yaml"), true},
		{filepath.Join(dir, "service.yaml"), true}, {damaged, false}} {
		out, err := exec.Command(filepath.Join(filepath.Dir(python), "kubernetes-validate"),
			"--strict", c.path).CombinedOutput()
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, want valid: %t\n%s", filepath.Base(c.path), err, c.ok, out)
		}
	}
}

// pod returns the command of one pod: the container's command with its environment and user, the
// Secret at its path, in a host with the pod's names.
func pod(t *testing.T, d *documents, h *hosts.Host, index int, keys string) *exec.Cmd {
	t.Helper()
	spec := &d.job.Spec.Template.Spec
	c := &spec.Containers[0]
	mounts := ""
	for _, m := range c.VolumeMounts {
		switch m.Name {
		case "keys":
			mounts += fmt.Sprintf("mount --bind %s %s && ", keys, m.MountPath)
		case "scratch":
			mounts += fmt.Sprintf("mount -t tmpfs -o mode=1777 tmpfs %s && ", m.MountPath)
		}
		if _, err := os.Stat(m.MountPath); os.IsNotExist(err) {
			if err := os.MkdirAll(m.MountPath, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(m.MountPath); os.Remove(filepath.Dir(m.MountPath)) })
		}
	}
	user := fmt.Sprintf("--reuid=%d --regid=%d --groups=%d", spec.SecurityContext.RunAsUser,
		spec.SecurityContext.RunAsGroup, spec.SecurityContext.FsGroup)
	cmd := h.Command("sh", append([]string{"-c", mounts + "exec setpriv " + user +
		` --inh-caps=-all -- "$@"`, "sh"}, c.Command...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprint("JOB_COMPLETION_INDEX=", index)}
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	return cmd
}

// TestK8sTrains starts the commands of the rendered job as processes, each in a host of its own with
// the pod's name, and compares the checkpoint with the checkpoint of gomx launch.
func TestK8sTrains(t *testing.T) {
	hosts.Named(t)
	hosts.Need(t, "setpriv", "util-linux")
	m := daemons.NewMnist(t)
	want := m.Alone(t, 2, 2)
	args, out := m.Args(t)
	if err := os.Chmod(out, 0o777); err != nil {
		t.Fatal(err)
	}
	c := config()
	c.Program, c.Volumes = append([]string{m.Program}, args...), nil
	_, text := render(t, c)
	d := read(t, text)
	n := hosts.New(t, d.job.Spec.Completions)
	spec := &d.job.Spec.Template.Spec
	keys, err := os.MkdirTemp("", "gomx-secret-")
	if err == nil {
		err = os.Chmod(keys, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(keys)
	for name, content := range d.secret.StringData {
		path := filepath.Join(keys, name)
		err := os.WriteFile(path, []byte(content), 0o600)
		if err == nil {
			err = os.Chown(path, 0, spec.SecurityContext.FsGroup)
		}
		if err == nil {
			err = os.Chmod(path, spec.Volumes[0].Secret.DefaultMode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmds := make([]*exec.Cmd, len(n.Hosts))
	outs := make([]bytes.Buffer, len(n.Hosts))
	for i, h := range n.Hosts {
		n.Alias(fmt.Sprintf("%s-%d.%s", c.Name, i, spec.Subdomain), h)
	}
	for i, h := range n.Hosts {
		cmds[i] = pod(t, &d, h, i, keys)
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			for _, h := range n.Hosts {
				h.Kill()
			}
			t.Errorf("pod %d: %v\n%s", i, err, outs[i].String())
		}
	}
	if !t.Failed() && daemons.Checkpoint(t, out) != want {
		t.Errorf("the checkpoint differs from the checkpoint of gomx launch:\n%s",
			outs[len(outs)-1].String())
	}
}
