package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPlatformData checks numbers that peers/platforms_data.py gives too.
func TestPlatformData(t *testing.T) {
	p := platformPlan{Features: 20, Outputs: 2, Samples: 30, Workers: 3}
	x, y := make([]float32, 10*20), make([]float32, 10)
	p.part(1, x, y)
	again := make([]float32, 20)
	platformNoise(again, 1*10*20)
	for i, v := range again {
		if x[i] != v || v < -0.5 || v >= 0.5 {
			t.Fatalf("value %d is %v, want %v within [-0.5, 0.5)", i, x[i], v)
		}
	}
	for i, l := range y {
		first, second := 0.0, 0.0
		for k := range 10 {
			first += float64(x[i*20+k])
			second += float64(x[i*20+10+k])
		}
		if want := second > first; (l == 1) != want {
			t.Errorf("label %d is %v, want that of the larger half: %v", i, l, want)
		}
	}
	if got := again[:3]; got[0] != platformValue(200) || got[2] != platformValue(202) {
		t.Errorf("noise %v differs from its definition", got)
	}
}

// platformValue is the definition of the noise, in the words of the script.
func platformValue(i uint64) float32 {
	h := i * 2654435761 % (1 << 32)
	h ^= h >> 15
	h = h * 2246822519 % (1 << 32)
	h ^= h >> 13
	return float32(h>>8)/(1<<24) - 0.5
}

func TestPlatformLoss(t *testing.T) {
	p := platformPlan{Outputs: 2}
	loss, accuracy := p.loss([]float32{0.25, 0.75, 0.5, 0.5}, []float32{1, 1})
	if want := -(math.Log(0.75) + math.Log(0.5)) / 2; math.Abs(loss-want) > 1e-12 ||
		accuracy != 0.5 {
		t.Errorf("loss %v and accuracy %v, want %v and 0.5", loss, accuracy, want)
	}
	p.Outputs = 1
	if loss, accuracy = p.loss([]float32{0.75, 0.75},
		[]float32{1, 0}); math.Abs(loss+(math.Log(0.75)+math.Log(0.25))/2) > 1e-12 ||
		accuracy != 0.5 {
		t.Errorf("logistic: loss %v and accuracy %v", loss, accuracy)
	}
}

// TestPlatformPeer runs a case against a peer whose interpreter is a shell script.
func TestPlatformPeer(t *testing.T) {
	plan := platformPlan{Workers: 2, Steps: 5, Samples: 20, Batch: 10}
	peer := fakePeer(t, "mxnet", `test "${1##*/}" = platforms_mxnet.py || exit 4
case "$DMLC_ROLE $DMLC_NUM_WORKER $2" in
worker*\"steps\":5*) printf 'check\t2.5\t0.5\nbegin\nend\t0.5\t50\n';;
worker*) exit 3;;
*) exec sleep 600;;
esac`)
	side, err := runPlatformPeer(t.Context(), peer, variant{name: "mxnet"}, t.TempDir(), &plan)
	if err != nil || side.Rate != 200 || side.Loss != 2.5 || side.Accuracy != 0.5 {
		t.Errorf("got %+v and error %v, want 200 samples/s and a loss of 2.5", side, err)
	}
	plan.Steps = 6
	if _, err := runPlatformPeer(t.Context(), peer, variant{name: "mxnet"}, t.TempDir(),
		&plan); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want a worker's exit status", err)
	}
}

func TestMissingPlatformPeers(t *testing.T) {
	for _, tt := range []struct {
		peer Peer
		want []string
	}{
		{fakePeer(t, "mxnet", "exit 1"), []string{"peer mxnet is missing", "has no package mxnet",
			"bin/pip install numpy==1.23.5 mxnet==1.9.1"}},
		{fakePeer(t, "tensorflow", "exit 1"), []string{"tensorflow-cpu",
			"--peer tensorflow=DIR/bin/python"}},
		{Peer{"spark", "/nonexistent/python"}, []string{"peer spark is missing", "pyspark"}},
		{fakePeer(t, "torch", "exit 0"), []string{"platforms: peer torch"}},
	} {
		err := Run(context.Background(), Config{Suite: "platforms", Peers: []Peer{tt.peer},
			Match: "none"})
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", tt.peer.Name, err, want)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := checkPlatformPeer(t.Context(),
		Peer{"spark", fakePeer(t, "spark", "exit 0").Python}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install openjdk") {
		t.Errorf("spark without Java: got %v", err)
	}
	if err := Run(context.Background(), Config{Suite: "local",
		Peers: []Peer{{"spark", "x"}}}); err == nil ||
		!strings.Contains(err.Error(), "no script for peer spark") {
		t.Errorf("a suite without this peer: got %v", err)
	}
}

// TestProcessWatch samples a process that has started another.
func TestProcessWatch(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	tree := []int{pid}
	for deadline := time.Now().Add(20 * time.Second); len(tree) < 2 &&
		time.Now().Before(deadline); {
		tree = descend(nil, pid)
	}
	w := &processWatch{roots: map[string]int{}, trees: map[string][]int{}, spent: map[int]float64{},
		each: map[int]float64{}, list: map[string][]processSample{}}
	w.add("worker 0", pid)
	from := time.Now()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		w.sample()
		if w.use("worker", from, time.Now()).CPU > 0 {
			break
		}
	}
	use, none := w.use("worker", from, time.Now()), w.use("server", from, time.Now())
	for _, p := range tree {
		if process, err := os.FindProcess(p); err == nil {
			_ = process.Kill()
		}
	}
	_ = cmd.Wait() // killed
	if len(tree) != 2 || use.CPU <= 0 || use.Memory < 4096 || none != (processUse{}) {
		t.Errorf("tree %v takes %+v, servers %+v", tree, use, none)
	}
	if _, _, err := readProcess(pid); err == nil {
		t.Error("a process that has ended: no error")
	}
}

// TestPlatformPages brings pages up to date, twice.
func TestPlatformPages(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, platformPage)
	if err := os.WriteFile(page, []byte(
		"# Benchmarks\n\n"+platformHeading+"\n\nold\n\n## The rest\n\nstays\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	side := func(rate, mib float64) platformSide {
		return platformSide{Rate: rate, Loss: 1, Worker: processUse{CPU: 0.5, Memory: mib *
			(1 << 20)}}
	}
	first := platformResult{Name: "platforms.softmax.sync.bs500.w3", Date: "2026-01-01",
		Sides: map[string]platformSide{
			ourName: side(1_234_567, 100), "mxnet": side(400_000, 700), "tensorflow": side(100_000,
				500)}}
	second := platformResult{Name: "platforms.logreg.sync.full.w3", Date: "2026-01-02",
		Sides: map[string]platformSide{ourName: side(50_000, 90), "spark": side(5000, 2000)}}
	for _, r := range []platformResult{first, second} {
		if err := writePlatformPages(dir, []platformResult{r}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Benchmarks\n", "\n## The rest\n\nstays\n",
		"| softmax, batch 500, sync | 1,235,000 | 400,000 | 100,000 | – | 3.09 | 3 |",
		"| logistic regression, full batch | 50,000 | – | – | 5,000 | 10.00 | 1 |",
		"Measured from 2026-01-01 to 2026-01-02", "](" + platformPicture + ")"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old\n") ||
		strings.Count(string(text), platformHeading) != 1 {
		t.Errorf("the old section is still there:\n%s", text)
	}
	picture, err := os.ReadFile(filepath.Join(dir, platformPicture))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := writePlatformPages(dir, nil); err == nil {
		t.Error("no figures: no error")
	}
}

// TestDifferentResults checks that a system that computes something else is found out.
func TestDifferentResults(t *testing.T) {
	pc := platformCase{}
	r := platformResult{Sides: map[string]platformSide{ourName: {Loss: 2}, "mxnet": {Loss: 2.00001},
		"tensorflow": {Loss: 2.05}}}
	if err := pc.agree(&r); err != nil {
		t.Error(err)
	}
	r.Sides["mxnet"] = platformSide{Loss: 2.001}
	if err := pc.agree(&r); err == nil || !strings.Contains(err.Error(), "mxnet 2.001") {
		t.Errorf("got %v, want both losses", err)
	}
	r.Sides[ourName] = platformSide{Loss: math.NaN()}
	if err := pc.agree(&r); err == nil {
		t.Error("a loss of NaN: no error")
	}
}

// TestPlatformCases checks that names are unique and that scripts can read the plans.
func TestPlatformCases(t *testing.T) {
	seen := map[string]bool{}
	for _, pc := range platformCases() {
		if seen[pc.name] || pc.steps[ourName] == 0 ||
			pc.plan.Samples/pc.plan.Workers < pc.plan.batch() {
			t.Errorf("case %+v", pc)
		}
		seen[pc.name] = true
		var back platformPlan
		text, err := json.Marshal(pc.planFor("mxnet"))
		if err != nil || json.Unmarshal(text, &back) != nil || back.Model != pc.plan.Model {
			t.Errorf("%s: plan %s, %v", pc.name, text, err)
		}
	}
}

// TestATimeThatCannotBe wants a worker whose difference of two times is negative to be an error,
// not a figure.
func TestATimeThatCannotBe(t *testing.T) {
	for _, said := range []string{"end\t-0.5\t100", "end\t1\t0", "end\tNaN\t100"} {
		r := newPlatformRun()
		r.line("begin")
		r.line(said)
		if s, err := r.finish(1); err == nil || !strings.Contains(err.Error(), "want both above 0") {
			t.Errorf("%q: got %v samples/s, %v", said, s.Rate, err)
		}
	}
}
