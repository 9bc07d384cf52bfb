package k8s

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gomx/launch"
)

// Config describes a job.
type Config struct {
	Name      string   // name of all objects, a DNS label
	Namespace string   // empty: the namespace that kubectl chooses
	Image     string   // container image with the program
	Program   []string // program in the image, and its arguments
	Env       []string // more variables, NAME=value

	Workers, Servers int
	// Job are the settings of the job, such as Replicas. The function Render sets the numbers, the
	// addresses and the folders.
	Job launch.Environ

	Port    int      // port of the scheduler; 0: 9091
	Status  int      // port of the health and metrics pages; 0: 9092
	Volumes []Volume // claims that all pods mount
	// Retries is the number of times that Kubernetes starts the process of an index again. 0: 10.
	Retries int
}

// Volume is a persistent volume claim that the pods mount at a path.
type Volume struct{ Claim, Path string }

// ParseVolume reads CLAIM:PATH.
func ParseVolume(text string) (Volume, error) {
	claim, path, ok := strings.Cut(text, ":")
	if !ok || !label.MatchString(claim) || !filepath.IsAbs(path) {
		return Volume{}, fmt.Errorf("k8s: volume %q, want CLAIM:PATH with an absolute path", text)
	}
	return Volume{claim, path}, nil
}

// label are the names that Kubernetes allows for services.
var label = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// longestName leaves room for the index behind the name of a pod.
const longestName = 52

// Folders in the containers.
const (
	keysPath    = "/etc/gomx/keys"
	scratchPath = "/run/gomx"
)

func (c *Config) validate() error {
	switch {
	case !label.MatchString(c.Name) || len(c.Name) > longestName:
		return fmt.Errorf("k8s: name %q, want at most %d lower-case letters, digits and hyphens, "+
			"with a letter first", c.Name, longestName)
	case c.Namespace != "" && !label.MatchString(c.Namespace):
		return fmt.Errorf("k8s: namespace %q, want lower-case letters, digits and hyphens",
			c.Namespace)
	case c.Image == "":
		return errors.New("k8s: no container image, want an image with the program")
	case len(c.Program) == 0:
		return errors.New("k8s: no program to run")
	case c.Workers < 1 || c.Servers < 1:
		return fmt.Errorf("k8s: %d workers and %d servers, want at least one of each", c.Workers,
			c.Servers)
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return fmt.Errorf("k8s: variable %q, want NAME=value", v)
		}
	}
	if c.Port == 0 {
		c.Port = 9091
	}
	if c.Status == 0 {
		c.Status = 9092
	}
	if c.Retries == 0 {
		c.Retries = 10
	}
	return nil
}

// Rendered are the objects of a job.
type Rendered struct {
	config  Config
	service object
	job     object
	keys    map[string][]byte
}

// Render makes the keys and the objects of a job.
func Render(c Config) (*Rendered, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	keys, err := launch.KeyFiles(c.Workers, c.Servers)
	if err != nil {
		return nil, err
	}
	if c.Job.Job == 0 {
		c.Job.Job = rand.Uint64()
	}
	return &Rendered{config: c, keys: keys, service: c.service(), job: c.job()}, nil
}

// WriteTo implements io.WriterTo: it writes all objects as one stream of YAML.
func (r *Rendered) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "# Secrets are in this stream: keep it from others.\n"+
		yaml(r.service)+"---\n"+yaml(r.secret())+"---\n"+yaml(r.job))
	return int64(n), err
}

// WriteFolder writes a folder for kustomize: the objects, the keys as files that only their owner
// can read, and a kustomization that makes the Secret of them.
func (r *Rendered) WriteFolder(dir string) error {
	var names []string
	files := map[string]string{"service.yaml": yaml(r.service), "job.yaml": yaml(r.job)}
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		names = append(names, "keys/"+name)
		files["keys/"+name] = string(r.keys[name])
	}
	files["kustomization.yaml"] = yaml(object{{"apiVersion", "kustomize.config.k8s.io/v1beta1"},
		{"kind", "Kustomization"}, {"resources", list([]string{"service.yaml", "job.yaml"})},
		{"secretGenerator", []any{object{{"name", r.config.secretName()},
			{"files", list(names)}}}}})
	if err := os.MkdirAll(filepath.Join(dir, "keys"), 0o700); err != nil {
		return fmt.Errorf("k8s: folder: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text),
			0o600); err != nil {
			return fmt.Errorf("k8s: folder: %w", err)
		}
	}
	return nil
}

func (c *Config) secretName() string { return c.Name + "-keys" }

// metadata returns the metadata of an object.
func (c *Config) metadata(name string) object {
	o := object{{"name", name}}
	if c.Namespace != "" {
		o = append(o, field{"namespace", c.Namespace})
	}
	return append(o, field{"labels", c.labels()})
}

func (c *Config) labels() object {
	return object{{"app.kubernetes.io/name", "gomx"}, {"app.kubernetes.io/instance", c.Name}}
}

// service is the headless service, by which pods have names before they are ready.
func (c *Config) service() object {
	return object{{"apiVersion", "v1"}, {"kind", "Service"}, {"metadata", c.metadata(c.Name)},
		{"spec", object{{"clusterIP", "None"}, {"publishNotReadyAddresses", true},
			{"selector", c.labels()}, {"ports", []any{
				object{{"name", "scheduler"}, {"port", c.Port}},
				object{{"name", "status"}, {"port", c.Status}}}}}}}
}

// secret is the Secret with the keys.
func (r *Rendered) secret() object {
	var data object
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		data = append(data, field{name, string(r.keys[name])})
	}
	return object{{"apiVersion", "v1"}, {"kind", "Secret"},
		{"metadata", r.config.metadata(r.config.secretName())}, {"type", "Opaque"},
		{"stringData", data}}
}

// job is the Indexed Job. The exit codes that no restart helps end the job; a pod that the cluster
// has evicted does not count as a failure.
func (c *Config) job() object {
	n := 1 + c.Servers + c.Workers
	codes := []any{launch.ExitFailed, launch.ExitUsage, launch.ExitLost, launch.ExitReplaced}
	return object{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", c.metadata(c.Name)},
		{"spec", object{
			{"completions", n}, {"parallelism", n}, {"completionMode", "Indexed"},
			{"backoffLimitPerIndex", c.Retries}, {"maxFailedIndexes", 0},
			{"podFailurePolicy", object{{"rules", []any{
				object{{"action", "FailJob"}, {"onExitCodes", object{
					{"containerName", "gomx"}, {"operator", "In"}, {"values", codes}}}},
				object{{"action", "Ignore"}, {"onPodConditions", []any{
					object{{"type", "DisruptionTarget"}, {"status", "True"}}}}}}}}},
			{"template", object{{"metadata", object{{"labels", c.labels()}}},
				{"spec", c.pod()}}}}}}
}

// pod is the pod of an index. Its name is the name of the job with the index; the name of the
// service behind it makes it known to the others.
func (c *Config) pod() object {
	mounts := []any{object{{"name", "keys"}, {"mountPath", keysPath}, {"readOnly", true}},
		object{{"name", "scratch"}, {"mountPath", scratchPath}},
		object{{"name", "memory"}, {"mountPath", "/dev/shm"}}}
	volumes := []any{
		object{{"name", "keys"}, {"secret", object{{"secretName", c.secretName()},
			{"defaultMode", 0o440}}}},
		object{{"name", "scratch"}, {"emptyDir", object{{"sizeLimit", "1Gi"}}}},
		object{{"name", "memory"}, {"emptyDir", object{{"medium", "Memory"}}}}}
	for i, v := range c.Volumes {
		name := fmt.Sprintf("volume%d", i)
		mounts = append(mounts, object{{"name", name}, {"mountPath", v.Path}})
		volumes = append(volumes, object{{"name", name}, {"persistentVolumeClaim",
			object{{"claimName", v.Claim}}}})
	}
	return object{{"subdomain", c.Name}, {"restartPolicy", "Never"},
		{"terminationGracePeriodSeconds", 30},
		{"securityContext", object{{"runAsNonRoot", true}, {"runAsUser", 10001},
			{"runAsGroup", 10001}, {"fsGroup", 10001},
			{"seccompProfile", object{{"type", "RuntimeDefault"}}}}},
		{"containers", []any{object{{"name", "gomx"}, {"image", c.Image},
			{"command", list(c.Program)}, {"env", c.env()},
			{"ports", []any{object{{"name", "scheduler"}, {"containerPort", c.Port}},
				object{{"name", "status"}, {"containerPort", c.Status}}}},
			{"readinessProbe", object{{"httpGet", object{{"path", "/readyz"},
				{"port", "status"}}}, {"periodSeconds", 5}}},
			{"securityContext", object{{"allowPrivilegeEscalation", false},
				{"capabilities", object{{"drop", []any{"ALL"}}}}}},
			{"volumeMounts", mounts}}}},
		{"volumes", volumes}}
}

// env are the variables of all pods. Kubernetes adds JOB_COMPLETION_INDEX, which decides the role.
func (c *Config) env() []any {
	e := c.Job
	e.Workers, e.Servers, e.Replicas = c.Workers, c.Servers, max(1, c.Job.Replicas)
	e.Scheduler = fmt.Sprintf("tcp://%s-0.%s:%d", c.Name, c.Name, c.Port)
	e.Keys, e.Status = keysPath, fmt.Sprintf("0.0.0.0:%d", c.Status)
	if e.IPv6 {
		e.Status = fmt.Sprintf("[::]:%d", c.Status)
	}
	if e.Dir == "" {
		e.Dir = scratchPath
	}
	var vars []any
	for _, v := range append(e.List(), c.Env...) {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, object{{"name", name}, {"value", value}})
	}
	return vars
}
