//go:build cgo && linux

package board_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"gomx/board"
	"gomx/initializer"
	"gomx/internal/output"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	"gomx/runs"
	sym "gomx/symbol"
)

var (
	browser = flag.Bool("browser", false, "open every page in Chromium: make board-check")
	shots   = flag.String("browser.shots", "", "folder that keeps the screenshots")
)

const playDir = "BOARD_TEST_DIR"

// TestMain lets the test's own binary play the processes of a job.
func TestMain(m *testing.M) {
	if dir := os.Getenv(playDir); dir != "" {
		os.Exit(launch.ExitCode(launch.Run(context.Background(), func(ctx context.Context) error {
			return playJob(ctx, dir)
		})))
	}
	os.Exit(m.Run())
}

// slowWorker is the rank of the worker that the others wait for.
const slowWorker = 2

// playJob is the program of the job: it trains until it is killed.
func playJob(ctx context.Context, dir string) error {
	it, err := digits(600, 20, 1)
	if err != nil {
		return err
	}
	return module.New(lenet(), module.Seed(1)).Fit(ctx, it, module.Store("dist_sync"),
		module.Epochs(1<<20), module.Optimize(optimizer.SGD{LR: 0.05}),
		module.Init(initializer.Xavier{}), module.Record(filepath.Join(dir, "job")),
		module.OnBatch(func(*module.BatchEnd) error {
			pause := 30 * time.Millisecond
			if job := kvstore.JobOf(ctx); job != nil && job.Rank() == slowWorker {
				pause = 300 * time.Millisecond
			}
			time.Sleep(pause)
			return nil
		}))
}

// lenet is a small network of convolutions for pictures of 12 x 12.
func lenet() *sym.Symbol {
	x := sym.Var("data")
	for i, filters := range []int{8, 16} {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, NumFilter: filters,
			Pad: []int{1, 1}}, sym.Name(fmt.Sprint("conv", i+1)))
		x = sym.Activation(x, sym.ActivationParams{ActType: "relu"}, sym.Name(fmt.Sprint("relu",
			i+1)))
		x = sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, sym.Name(fmt.Sprint("pool", i+1)))
	}
	x = sym.FullyConnected(sym.Flatten(x, sym.Name("flatten")),
		sym.FullyConnectedParams{NumHidden: 4}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

const side = 12 // pixels of a picture

// drawn returns a picture of one of four shapes, with noise.
func drawn(class int, r *rand.Rand) []float32 {
	p := make([]float32, side*side)
	cx, cy := 4+r.Float64()*4, 4+r.Float64()*4
	for i := range p {
		x, y := float64(i%side)-cx, float64(i/side)-cy
		on := [4]bool{x*x+y*y < 9, x*x < 9 && y*y < 9 && (x*x > 3.9 || y*y > 3.9), x*x < 1.5,
			y*y < 1.5}[class]
		p[i] = float32(0.55 * r.Float64())
		if on {
			p[i] += 0.45
		}
	}
	return p
}

// digits is an iterator over pictures.
func digits(n, batch int, seed uint64) (*dataio.Table, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	var data, label []float32
	for range n {
		class := r.IntN(4)
		data, label = append(data, drawn(class, r)...), append(label, float32(class))
	}
	return dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch, Shuffle: true, Seed: seed,
		Data:  []*nd.Array{nd.FromSlice(data, n, 1, side, side)},
		Label: []*nd.Array{nd.FromSlice(label)}})
}

// shapes are the names of the classes.
var shapes = []string{"disc", "square", "column", "row"}

// local trains a run in this process, with everything that a run can have.
func local(t *testing.T, dir, name string, rate float64) {
	t.Helper()
	r, err := runs.Open(filepath.Join(dir, name), runs.Histograms(30), runs.Trace(12),
		runs.Hyper(map[string]any{"learning rate": rate, "filters": "8, 16"}))
	if err != nil {
		t.Fatal(err)
	}
	it, err := digits(1200, 20, 7)
	if err != nil {
		t.Fatal(err)
	}
	valid, err := digits(400, 20, 8)
	if err != nil {
		t.Fatal(err)
	}
	mod := module.New(lenet(), module.Seed(2))
	confusion := metric.ConfusionMatrix()
	if err := mod.Fit(t.Context(), it, module.Epochs(4), module.Validate(valid),
		module.Metric(metric.Composite(metric.Accuracy(), metric.CrossEntropy(metric.Name("loss")))),
		module.ValidationMetric(metric.Composite(metric.Accuracy(),
			metric.CrossEntropy(metric.Name("loss")), confusion)),
		module.Init(initializer.Xavier{}), module.Optimize(optimizer.SGD{LR: rate, Momentum: 0.9}),
		module.RecordTo(r)); err != nil {
		t.Fatal(err)
	}
	r.Matrix(240, runs.Matrix{Labels: shapes, Counts: confusion.Matrix()})
	rng := rand.New(rand.NewPCG(5, 0))
	var samples []runs.Sample
	for i := range 12 {
		class := i % 4
		guess := class
		if i == 7 {
			guess = 1
		}
		samples = append(samples, runs.Sample{PNG: picture(t, drawn(class, rng)), Label: shapes[class],
			Prediction: shapes[guess], Confidence: 0.99 - 0.03*float64(i)})
	}
	r.Samples(240, samples)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func picture(t *testing.T, p []float32) []byte {
	m := image.NewGray(image.Rect(0, 0, side, side))
	for i, v := range p {
		m.SetGray(i%side, i/side, color.Gray{Y: uint8(255 * v)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// visitor is a browser with one page.
type visitor struct {
	t   *testing.T
	ctx context.Context
	url string
	out string

	mu     sync.Mutex
	faults []string // errors of the page's program
}

// visit starts Chromium.
func visit(t *testing.T, url string) *visitor {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("no chromium: apt-get install -y chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.WindowSize(1440, 960),
		chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	v := &visitor{t: t, ctx: ctx, url: url, out: *shots}
	if v.out == "" {
		v.out = t.TempDir()
	} else if err := os.MkdirAll(v.out, 0o777); err != nil {
		t.Fatal(err)
	}
	listen := func(e any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			d := e.ExceptionDetails
			text := d.Text
			if d.Exception != nil {
				text += ": " + d.Exception.Description
			}
			v.faults = append(v.faults, text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				for _, a := range e.Args {
					v.faults = append(v.faults, string(a.Value)+a.Description)
				}
			}
		}
	}
	v.do() // starts the browser
	if err := chromedp.Listen(ctx, listen); err != nil {
		t.Fatal(err)
	}
	return v
}

// do runs actions of the browser.
func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// eval returns the value of an expression on the page.
func eval[T any](v *visitor, js string) T {
	v.t.Helper()
	value, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		v.t.Fatalf("%s: %v", js, err)
	}
	return value
}

// run runs statements on the page.
func (v *visitor) run(js string) {
	v.t.Helper()
	eval[int](v, js+"; 0")
}

// until waits until an expression on the page is true.
func (v *visitor) until(js string) {
	v.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !eval[bool](v, "!!("+js+")") {
		if time.Now().After(deadline) {
			v.shot("failed")
			v.t.Fatalf("still not %s; faults %q, page %.2000s", js, v.faults,
				eval[string](v, "document.body.innerText"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// page opens a page and waits for an element of it.
func (v *visitor) page(hash, wait string) {
	v.t.Helper()
	v.do(chromedp.Navigate(v.url + "/" + hash))
	v.until(fmt.Sprintf("document.querySelector(%q)", wait))
}

// click clicks an element as a person would.
func (v *visitor) click(selector string) {
	v.t.Helper()
	v.do(chromedp.Click(chromedp.CSS(selector)))
}

// shot keeps a picture of the page.
func (v *visitor) shot(name string) {
	v.t.Helper()
	time.Sleep(400 * time.Millisecond) // charts are drawn in the next frames
	b, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(v.out, name+".png"), b, 0o666); err != nil {
		v.t.Fatal(err)
	}
}

// findNothing empties the field of the search.
func (v *visitor) findNothing() {
	v.t.Helper()
	v.run("window.box = document.getElementById('find'); box.value = ''; " +
		"box.dispatchEvent(new Event('input'))")
}

// same compares a text on the page.
func (v *visitor) same(js, want string) {
	v.t.Helper()
	if got := eval[string](v, js); got != want {
		v.t.Errorf("%s is %q, want %q", js, got, want)
	}
}

// TestBrowser opens and clicks every page in Chromium and compares the contents with the files of
// the runs, and with a job of three workers and two servers in which a server is killed.
func TestBrowser(t *testing.T) {
	if !*browser {
		t.Skip("no -browser; make board-check runs it")
	}
	dir, job := t.TempDir(), t.TempDir()
	runsDir := filepath.Join(dir, "runs")
	server, stop := startJob(t, runsDir, job)
	defer stop()
	local(t, runsDir, "shapes-slow", 0.003)
	local(t, runsDir, "shapes-fast", 0.05)
	b, err := board.New(board.Config{Dir: runsDir, Jobs: []string{job}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(b)
	defer s.Close()
	defer b.Close()
	v := visit(t, s.URL)
	d, err := runs.Load(filepath.Join(runsDir, "shapes-fast"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	v.runsPage()
	v.curvesPage(d)
	v.networkPages(d)
	v.resultPages(d)
	v.blockPages(runsDir)
	v.jobPage(server)
	v.otherScreens()
	if len(v.faults) > 0 {
		t.Errorf("errors of the page's program: %q", v.faults)
	}
	t.Logf("screenshots in %s", v.out)
}

// startJob starts the job. kill kills server 1.
func startJob(t *testing.T, runsDir, dir string) (kill func(), stop func()) {
	t.Helper()
	var mu sync.Mutex
	pids := map[wire.Node]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var out output.Buffer
	done := make(chan error, 1)
	go func() {
		done <- launch.Local{Program: []string{os.Args[0]}, Workers: 3, Servers: 2, Replicas: 2,
			Dir: dir, Env: []string{playDir + "=" + runsDir, "GOMAXPROCS=1", "OMP_NUM_THREADS=1"},
			Stdout: &out, Stderr: &out, Grace: time.Second,
			Started: func(n wire.Node, pid int) {
				mu.Lock()
				defer mu.Unlock()
				pids[n] = pid
			}}.Run(ctx)
	}()
	kill = func() {
		mu.Lock()
		pid := pids[wire.Node{Role: wire.Server, Rank: 1}]
		mu.Unlock()
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatalf("killing server 1, process %d: %v", pid, err)
		}
	}
	return kill, func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the job: %v\n%s", err, out.String())
		}
	}
}

func (v *visitor) runsPage() {
	v.t.Helper()
	v.page("", "#runs")
	v.until("document.querySelectorAll('#runs tbody tr').length == 3")
	v.until("document.getElementById('live').textContent == 'live'")
	v.click("#runs th[data-key=name]")
	v.click("#runs th[data-key=name]")
	v.same("[...document.querySelectorAll('#runs tbody tr')].map(r => r.dataset.run).join()",
		"job,shapes-fast,shapes-slow")
	v.same("document.querySelector('tr[data-run=shapes-fast] .pill').textContent", "complete")
	v.same("document.querySelector('tr[data-run=job] .pill').textContent", "running")
	v.do(chromedp.SendKeys(chromedp.CSS("#find"), "slow"))
	v.same("[...document.querySelectorAll('#runs tbody tr')].map(r => r.dataset.run).join()",
		"shapes-slow")
	v.findNothing()
	v.shot("runs")
	v.click("tr[data-run=job] input")
	v.click("#compare")
}

func (v *visitor) curvesPage(d *runs.Data) {
	v.t.Helper()
	v.until("document.querySelectorAll('.chart .u-legend').length >= 4")
	v.until("document.querySelector('[data-quantity=accuracy]').dataset.points == '496'")
	v.same("chosen.textContent", "2 of 3 runs")
	v.run("smooth.value = 0.9; smooth.dispatchEvent(new Event('input'))")
	v.shot("curves")
	v.do(chromedp.SetValue(chromedp.CSS("#axis"), "relative"))
	v.run("axis.dispatchEvent(new Event('change'))")
	v.click("#log")
	v.click("#log")
	v.page("#/run/shapes-fast/curves", "[data-quantity=loss] .u-legend")
	v.until("document.querySelector('[data-figure=steps] b').textContent == '240'")
	want := 0
	for _, c := range d.Curves {
		if strings.HasSuffix(c.Name, "/loss") {
			want += len(c.Step)
		}
	}
	v.until(fmt.Sprintf("document.querySelector('[data-quantity=loss]').dataset.points == '%d'",
		want))
	v.shot("run")
}

func (v *visitor) networkPages(d *runs.Data) {
	v.t.Helper()
	v.click("#tab-graph")
	v.until("document.querySelector('#network')")
	v.until(fmt.Sprintf("document.querySelectorAll('g.node').length == %d", len(d.Graph.Nodes)))
	v.do(chromedp.SendKeys(chromedp.CSS("#find"), "conv2"))
	v.until("document.querySelectorAll('g.node.found').length == 1")
	v.same("document.querySelector('[data-fact=shape]').textContent", "20 × 16 × 6 × 6")
	v.until("document.querySelector('[data-fact=time]').textContent.includes('forward')")
	v.findNothing()
	v.zoomsGraph()
	v.do(chromedp.SetValue(chromedp.CSS("#by"), "time"))
	v.run("by.dispatchEvent(new Event('change')); " +
		"[...document.querySelectorAll('button')].find(b => b.textContent == 'whole graph').click()")
	v.shot("graph")
	v.click("#tab-memory")
	v.until("document.querySelector('#plan canvas')")
	v.same("document.querySelector('[data-figure=buffers] b').textContent",
		fmt.Sprint(len(d.Memory.Blocks)))
	v.do(chromedp.MouseEvent(chromedp.MouseMoved, 400, 600))
	v.shot("memory")
	v.click("#tab-trace")
	v.until("document.querySelector('#trace canvas')")
	operators := map[string]bool{}
	for _, b := range d.Timeline.Boxes {
		if b.Op != "" {
			operators[b.Op] = true
		}
	}
	v.same("String(document.querySelectorAll('#operators tbody tr').length)",
		fmt.Sprint(len(operators)))
	v.same("document.querySelector('[data-figure=step] b').textContent", "12")
	v.until("document.querySelector('#box h2')")
	v.shot("trace")
	v.click("#tab-histograms")
	v.until(fmt.Sprintf("document.querySelectorAll('#ridges canvas').length == %d",
		len(d.Histograms)))
	v.shot("histograms")
}

// zoomsGraph turns the wheel above the graph: it grows and shrinks.
func (v *visitor) zoomsGraph() {
	v.t.Helper()
	scale := "+document.querySelector('#network > g').getAttribute('transform')" +
		".match(/scale\\((.*)\\)/)[1]"
	turn := func(by int) {
		v.run(fmt.Sprintf("network.dispatchEvent(new WheelEvent('wheel', {deltaY: %d, "+
			"clientX: 500, clientY: 500, cancelable: true}))", by))
	}
	before := eval[float64](v, scale)
	turn(-300)
	near := eval[float64](v, scale)
	turn(600)
	if far := eval[float64](v, scale); near <= before || far >= before {
		v.t.Errorf("scale %v, %v after the wheel turned up, %v after it turned down", before, near,
			far)
	}
}

func (v *visitor) resultPages(d *runs.Data) {
	v.t.Helper()
	v.click("#tab-results")
	v.until("document.querySelector('#matrix')")
	for i, row := range d.Matrix.Counts {
		for j, n := range row {
			want := fmt.Sprint(n)
			if n == 0 {
				want = ""
			}
			v.same(fmt.Sprintf("matrix.rows[%d].cells[%d].textContent", i+1, j+1), want)
		}
	}
	v.same("String(document.querySelectorAll('.sample').length)", "12")
	v.same("String(document.querySelectorAll('.sample.wrong').length)", "1")
	v.until("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
	v.shot("results")
	v.click("#tab-events")
	v.until("document.querySelectorAll('#events li').length == 5") // a process and four epochs
	v.shot("events")
}

func (v *visitor) jobPage(kill func()) {
	v.t.Helper()
	v.page("#/jobs", "table.members")
	v.until("[...document.querySelectorAll('table.members tbody .pill')].filter(" +
		"p => p.textContent == 'alive').length == 5")
	v.until("document.querySelector('[data-figure=\"without a second copy\"] b').textContent == '0'")
	clock := "+document.querySelector('tr[data-node=\"worker 0\"]').cells[5].textContent" +
		".replace(/,/g, '')"
	before := eval[int](v, clock)
	v.until(fmt.Sprintf("%s > %d", clock, before))
	v.waitsPicture()
	kill()
	v.until("document.querySelector('li[data-kind=takeover]')")
	text := eval[string](v, "document.querySelector('li[data-kind=takeover]').innerText")
	if !strings.Contains(text, "server 0 takes over") || !strings.Contains(text, "from server 1") {
		v.t.Errorf("the takeover is %q", text)
	}
	v.until("[...document.querySelectorAll('li[data-kind=dead]')].some(" +
		"e => e.innerText.includes('server 1'))")
	v.until("[...document.querySelectorAll('li[data-kind=joined]')].some(" +
		"e => e.innerText.includes('server 1 is back'))")
	v.until("document.querySelector('[data-figure=\"without a second copy\"] b').textContent == '0'")
	after := eval[int](v, clock)
	v.until(fmt.Sprintf("%s > %d", clock, after))
	v.shot("job")
	v.run("document.querySelector('.changes').scrollIntoView()")
	v.shot("job-events")
	// the run's own file has the takeover, too
	v.page("#/run/job/events", "#events li[data-kind=takeover]")
	v.shot("job-run-events")
}

// waitsPicture finds the arrows to the slow worker, and a click on it.
func (v *visitor) waitsPicture() {
	v.t.Helper()
	v.until("document.querySelectorAll('#waits .process').length == 5")
	arrow := fmt.Sprintf("#waits path[data-to=\"worker %d\"]", slowWorker)
	v.until(fmt.Sprintf("document.querySelector('%s')", arrow))
	v.until("document.querySelector('#waits .awaited').dataset.process == 'worker 2'")
	v.until("[...document.querySelectorAll('#waits path.wait')].every(" +
		"p => ![...document.querySelectorAll('#waits path.wait')].some(" +
		"q => q.dataset.from == p.dataset.to && q.dataset.to == p.dataset.from))") // no circle
	v.until("document.getElementById('waits').getAttribute('aria-label').includes(" +
		"'waits for worker 2')")
	v.run("document.querySelector('.waits').scrollIntoView()")
	v.shot("job-waits")
	v.click("#waits [data-process=\"worker 0\"]")
	v.until("document.querySelector('#waits .on').dataset.process == 'worker 0'")
	v.click("#waits [data-process=\"worker 0\"]")
	v.until("!document.querySelector('#waits .on')")
	v.run("scrollTo(0, 0)")
}

// otherScreens looks at the board in the dark and on a phone.
func (v *visitor) otherScreens() {
	v.t.Helper()
	v.page("#/run/shapes-fast/curves", "[data-quantity=loss] .u-legend")
	v.click("#theme")
	v.until("document.documentElement.dataset.theme == 'dark'")
	v.until("document.querySelector('[data-quantity=loss] .u-legend')")
	v.shot("dark")
	v.page("#/run/shapes-fast/graph", "#network")
	v.shot("dark-graph")
	v.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	for name, page := range map[string][2]string{"phone-runs": {"", "#runs"},
		"phone-curves": {"#/curves", ".chart .u-legend"}, "phone-job": {"#/jobs", "table.members"},
		"phone-trace": {"#/run/shapes-fast/trace", "#trace canvas"}} {
		v.page(page[0], page[1])
		v.shot(name)
		if wide := eval[int](v, "document.documentElement.scrollWidth"); wide > 390 {
			v.t.Errorf("%s is %d pixels wide on a phone of 390", name, wide)
		}
	}
}
