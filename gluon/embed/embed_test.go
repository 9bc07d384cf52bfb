package embed_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint/npy"
	"gomx/checkpoint/safetensors"
	"gomx/gluon/embed"
	nd "gomx/ndarray"
)

var (
	folder = flag.String("model", "", "folder of a model of sentence-transformers")
	python = flag.String("python", "", "Python that can import torch, safetensors and tokenizers")
)

// sentences draws n sentences of 0 to most words.
func sentences(n, most int, words []string, r *rand.Rand) []string {
	out := make([]string, n)
	for i := range out {
		var s []string
		for range r.IntN(most + 1) {
			s = append(s, words[r.IntN(len(words))])
		}
		out[i] = strings.Join(s, " ")
	}
	return out
}

// tiny writes a model of two layers with random weights.
func tiny(t *testing.T, pooling string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("config.json", `{"model_type": "bert", "vocab_size": 8, "hidden_size": 8, 
"intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 40,
"type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}`)
	write("modules.json", `[{"path": "", "type": "sentence_transformers.models.Transformer"},
{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
{"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]`)
	write("1_Pooling/config.json", `{"`+pooling+`": true}`)
	write("tokenizer.json", `{"added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2,
"[SEP]": 3, "a": 4, "b": 5, "c": 6, "d": 7}}}`)
	arrays := map[string]*nd.Array{}
	add := func(name string, seed uint64, shape ...int) {
		arrays[name] = nd.Uniform(-1, 1, shape, nd.Seed(seed))
	}
	add("embeddings.word_embeddings.weight", 1, 8, 8)
	add("embeddings.position_embeddings.weight", 2, 40, 8)
	add("embeddings.token_type_embeddings.weight", 3, 2, 8)
	names := []string{"embeddings.LayerNorm"}
	for i := range 2 {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		for k, n := range []string{"attention.self.query", "attention.self.key",
			"attention.self.value", "attention.output.dense"} {
			add(p+n+".weight", uint64(10*i+k+10), 8, 8)
			add(p+n+".bias", uint64(10*i+k+40), 8)
		}
		add(p+"intermediate.dense.weight", uint64(i+70), 16, 8)
		add(p+"intermediate.dense.bias", uint64(i+80), 16)
		add(p+"output.dense.weight", uint64(i+90), 8, 16)
		add(p+"output.dense.bias", uint64(i+100), 8)
		names = append(names, p+"attention.output.LayerNorm", p+"output.LayerNorm")
	}
	for i, n := range names {
		add(n+".weight", uint64(i+110), 8)
		add(n+".bias", uint64(i+120), 8)
	}
	if err := safetensors.Save(filepath.Join(dir, "model.safetensors"), arrays); err != nil {
		t.Fatal(err)
	}
	return dir
}

// near reports the greatest difference of two embeddings.
func near(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return most
}

// TestCompany demands the same embedding for a sentence alone and among many.
func TestCompany(t *testing.T) {
	const seed = 5
	for _, pooling := range []string{"pooling_mode_mean_tokens", "pooling_mode_cls_token"} {
		m, err := embed.Load(tiny(t, pooling))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		list := sentences(150, 45, []string{"a", "b", "c", "d"}, rand.New(rand.NewPCG(seed, 0)))
		all, err := m.Embed(t.Context(), list...)
		if err != nil {
			t.Fatal(err)
		}
		different := false
		for i, s := range list[:20] {
			one, err := m.Embed(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if d := near(one[0], all[i]); d > 1e-5 || len(all[i]) != m.Units() {
				t.Errorf("seed %d: sentence %d %q differs by %g", seed, i, s, d)
			}
			if d := near(all[i], make([]float32, m.Units())); d > 1.001 || d < 0.1 {
				t.Errorf("seed %d: sentence %d: greatest element %g", seed, i, d)
			}
			different = different || near(all[i], all[0]) > 0.01
		}
		if !different {
			t.Errorf("%s: all embeddings are equal", pooling)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := tiny(t, "pooling_mode_max_tokens")
	if _, err := embed.Load(dir); err == nil || !strings.Contains(err.Error(), "max_tokens") {
		t.Errorf("error %v, want one about max_tokens", err)
	}
	if _, err := embed.Load(t.TempDir()); err == nil {
		t.Error("an empty folder is a model")
	}
}

// TestSentenceTransformers compares 100 sentences with the formula of sentence-transformers in
// torch: go test ./gluon/embed -run SentenceTransformers -v -model FOLDER -python PYTHON, or make
// embeddings.
func TestSentenceTransformers(t *testing.T) {
	if *folder == "" || *python == "" {
		t.Skip("wants a model and Python: make embeddings")
	}
	const seed = 7
	list := sentences(96, 300, strings.Fields("the engine knows no tensors and planned "+
		"memory of graphs résumé naïve 日本 2026 unbelievably tokenization , . ! wow"),
		rand.New(rand.NewPCG(seed, 0)))
	list = append(list, "", "hi", "How do I resume a run that was killed?", "emoji 😀 ok")
	dir := t.TempDir()
	text, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "in.json"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*python, "testdata/embeddings.py", *folder,
		filepath.Join(dir, "in.json"), filepath.Join(dir, "out.npz")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	arrays, err := npy.LoadZip(filepath.Join(dir, "out.npz"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := nd.Values[float32](arrays[0].Array)
	if err != nil {
		t.Fatal(err)
	}
	m, err := embed.Load(*folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := m.Embed(t.Context(), list...)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.0
	for i, v := range got {
		d := near(v, want[i*m.Units():(i+1)*m.Units()])
		if most = max(most, d); d > 1e-4 {
			t.Errorf("seed %d: sentence %d %.40q differs by %g", seed, i, list[i], d)
		}
	}
	t.Logf("%d sentences, greatest difference %.2g", len(list), most)
}
