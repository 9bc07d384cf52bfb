package zoo_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint/safetensors"
	"gomx/dtype"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// huggingNames are names of Hugging Face for a network of one layer, written out by hand.
var huggingNames = map[string]map[string]string{
	"bert": {
		"word_embed.0.weight":       "bert.embeddings.word_embeddings.weight",
		"encoder.position_weight":   "bert.embeddings.position_embeddings.weight",
		"token_type_embed.0.weight": "bert.embeddings.token_type_embeddings.weight",
		"encoder.layer_norm.gamma":  "bert.embeddings.LayerNorm.gamma",
		"encoder.layer_norm.beta":   "bert.embeddings.LayerNorm.beta",
		"encoder.transformer_cells.0.attention_cell.proj_query.weight": "bert.encoder.layer.0.attention.self.query.weight",
		"encoder.transformer_cells.0.attention_cell.proj_query.bias":   "bert.encoder.layer.0.attention.self.query.bias",
		"encoder.transformer_cells.0.attention_cell.proj_key.weight":   "bert.encoder.layer.0.attention.self.key.weight",
		"encoder.transformer_cells.0.attention_cell.proj_key.bias":     "bert.encoder.layer.0.attention.self.key.bias",
		"encoder.transformer_cells.0.attention_cell.proj_value.weight": "bert.encoder.layer.0.attention.self.value.weight",
		"encoder.transformer_cells.0.attention_cell.proj_value.bias":   "bert.encoder.layer.0.attention.self.value.bias",
		"encoder.transformer_cells.0.proj.weight":                      "bert.encoder.layer.0.attention.output.dense.weight",
		"encoder.transformer_cells.0.proj.bias":                        "bert.encoder.layer.0.attention.output.dense.bias",
		"encoder.transformer_cells.0.layer_norm.gamma":                 "bert.encoder.layer.0.attention.output.LayerNorm.weight",
		"encoder.transformer_cells.0.layer_norm.beta":                  "bert.encoder.layer.0.attention.output.LayerNorm.bias",
		"encoder.transformer_cells.0.ffn.ffn_1.weight":                 "bert.encoder.layer.0.intermediate.dense.weight",
		"encoder.transformer_cells.0.ffn.ffn_1.bias":                   "bert.encoder.layer.0.intermediate.dense.bias",
		"encoder.transformer_cells.0.ffn.ffn_2.weight":                 "bert.encoder.layer.0.output.dense.weight",
		"encoder.transformer_cells.0.ffn.ffn_2.bias":                   "bert.encoder.layer.0.output.dense.bias",
		"encoder.transformer_cells.0.ffn.layer_norm.gamma":             "bert.encoder.layer.0.output.LayerNorm.weight",
		"encoder.transformer_cells.0.ffn.layer_norm.beta":              "bert.encoder.layer.0.output.LayerNorm.bias",
		"pooler.weight": "bert.pooler.dense.weight", "pooler.bias": "bert.pooler.dense.bias",
		"classifier.weight": "cls.seq_relationship.weight", "classifier.bias": "cls.seq_relationship.bias",
		"decoder.0.weight": "cls.predictions.transform.dense.weight",
		"decoder.0.bias":   "cls.predictions.transform.dense.bias",
		"decoder.2.gamma":  "cls.predictions.transform.LayerNorm.weight",
		"decoder.2.beta":   "cls.predictions.transform.LayerNorm.bias",
		"decoder.3.bias":   "cls.predictions.bias",
	},
	"distilbert": {
		"word_embed.0.weight":      "distilbert.embeddings.word_embeddings.weight",
		"encoder.position_weight":  "distilbert.embeddings.position_embeddings.weight",
		"encoder.layer_norm.gamma": "distilbert.embeddings.LayerNorm.weight",
		"encoder.layer_norm.beta":  "distilbert.embeddings.LayerNorm.bias",
		"encoder.transformer_cells.0.attention_cell.proj_query.weight": "distilbert.transformer.layer.0.attention.q_lin.weight",
		"encoder.transformer_cells.0.attention_cell.proj_query.bias":   "distilbert.transformer.layer.0.attention.q_lin.bias",
		"encoder.transformer_cells.0.attention_cell.proj_key.weight":   "distilbert.transformer.layer.0.attention.k_lin.weight",
		"encoder.transformer_cells.0.attention_cell.proj_key.bias":     "distilbert.transformer.layer.0.attention.k_lin.bias",
		"encoder.transformer_cells.0.attention_cell.proj_value.weight": "distilbert.transformer.layer.0.attention.v_lin.weight",
		"encoder.transformer_cells.0.attention_cell.proj_value.bias":   "distilbert.transformer.layer.0.attention.v_lin.bias",
		"encoder.transformer_cells.0.proj.weight":                      "distilbert.transformer.layer.0.attention.out_lin.weight",
		"encoder.transformer_cells.0.proj.bias":                        "distilbert.transformer.layer.0.attention.out_lin.bias",
		"encoder.transformer_cells.0.layer_norm.gamma":                 "distilbert.transformer.layer.0.sa_layer_norm.weight",
		"encoder.transformer_cells.0.layer_norm.beta":                  "distilbert.transformer.layer.0.sa_layer_norm.bias",
		"encoder.transformer_cells.0.ffn.ffn_1.weight":                 "distilbert.transformer.layer.0.ffn.lin1.weight",
		"encoder.transformer_cells.0.ffn.ffn_1.bias":                   "distilbert.transformer.layer.0.ffn.lin1.bias",
		"encoder.transformer_cells.0.ffn.ffn_2.weight":                 "distilbert.transformer.layer.0.ffn.lin2.weight",
		"encoder.transformer_cells.0.ffn.ffn_2.bias":                   "distilbert.transformer.layer.0.ffn.lin2.bias",
		"encoder.transformer_cells.0.ffn.layer_norm.gamma":             "distilbert.transformer.layer.0.output_layer_norm.weight",
		"encoder.transformer_cells.0.ffn.layer_norm.beta":              "distilbert.transformer.layer.0.output_layer_norm.bias",
	},
}

const (
	tinyConfig = `{"model_type": "bert", "vocab_size": 20, "hidden_size": 8, "intermediate_size": 12,
"num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 10, "type_vocab_size": 2,
"hidden_act": "gelu", "layer_norm_eps": 1e-6, "position_embedding_type": "absolute"}`
	tinyDistil = `{"model_type": "distilbert", "vocab_size": 20, "dim": 8, "hidden_dim": 12, "n_layers": 1,
"n_heads": 2, "max_position_embeddings": 10, "activation": "gelu"}`
)

// writeModel writes a folder of a model.
func writeModel(t *testing.T, config string, arrays map[string]*nd.Array) string {
	t.Helper()
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666))
	ok(t, safetensors.Save(filepath.Join(dir, "model.safetensors"), arrays))
	return dir
}

// tinyBERT returns a network and its arrays under the names of Hugging Face.
func tinyBERT(t *testing.T, kind string) (*zoo.BERT, map[string]*nd.Array) {
	t.Helper()
	c := zoo.BERTConfig{Vocab: 20, Units: 8, Hidden: 12, Layers: 1, Heads: 2, MaxLength: 10, Eps: 1e-6}
	if kind == "distilbert" {
		c.Eps, c.NoTokenTypes, c.NoPooler, c.NoDecoder = 0, true, true, true
	}
	b := zoo.NewBERT(c)
	params := b.Net().Params()
	ok(t, params.Init(initializer.Normal{Sigma: 0.5}))
	arrays := map[string]*nd.Array{}
	for name, p := range params.All() {
		if file := huggingNames[kind][name]; file != "" {
			arrays[file] = p.Data()
		}
	}
	if len(arrays) != len(huggingNames[kind]) {
		t.Fatalf("%d of %d parameters of %v", len(arrays), len(huggingNames[kind]), params.Names())
	}
	return b, arrays
}

// run returns all results of a network.
func run(b *zoo.BERT) []*nd.Array {
	in := zoo.BERTInput{Words: nd.FromSlice([]float32{3, 7, 19, 0, 5, 6}, 2, 3),
		TokenTypes:  nd.FromSlice([]float32{0, 0, 1, 1, 0, 0}, 2, 3),
		ValidLength: nd.FromSlice([]float32{3, 2}, 2), Masked: nd.FromSlice([]float32{1, 0}, 2, 1)}
	out := b.Run(in)
	return []*nd.Array{out.Steps, out.Pooled, out.Next, out.Words}
}

// TestLoadBERT loads networks by the names of Hugging Face, in several element types.
func TestLoadBERT(t *testing.T) {
	for kind, config := range map[string]string{"bert": tinyConfig, "distilbert": tinyDistil} {
		t.Run(kind, func(t *testing.T) {
			b, arrays := tinyBERT(t, kind)
			arrays["classifier.weight"] = nd.Zeros(nd.Shape{3, 8})
			got, rest, err := zoo.LoadBERT(writeModel(t, config, arrays))
			ok(t, err)
			if !slices.Equal(rest, []string{"classifier.weight"}) {
				t.Errorf("rest %v, want classifier.weight", rest)
			}
			want := run(b)
			for i, a := range run(got) {
				if (a == nil) != (want[i] == nil) {
					t.Errorf("output %d: one network lacks it", i)
				} else if a != nil && fmt.Sprint(floats(t, a)) != fmt.Sprint(floats(t, want[i])) {
					t.Errorf("output %d: got %v, want %v", i, a, want[i])
				}
			}
		})
	}
}

// floats returns the elements of an array.
func floats(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	list, err := nd.Values[float32](a)
	ok(t, err)
	return list
}

// TestLoadRoBERTa leaves out the rows of positions that RoBERTa does not use, and converts
// bfloat16.
func TestLoadRoBERTa(t *testing.T) {
	_, arrays := tinyBERT(t, "bert")
	roberta := map[string]*nd.Array{}
	for name, a := range arrays {
		if rest, found := strings.CutPrefix(name, "bert."); found {
			roberta["roberta."+rest] = a.AsType(dtype.BFloat16)
		}
	}
	config := strings.NewReplacer(`"bert"`, `"roberta"`, `_length": 2`, `_length": 1`).Replace(tinyConfig)
	b, _, err := zoo.LoadBERT(writeModel(t, config, roberta))
	ok(t, err)
	a := b.Encoder.PositionWeight.Data()
	if !slices.Equal(a.Shape(), nd.Shape{8, 8}) || a.DType() != dtype.Float32 {
		t.Fatalf("positions of shape %v, %v, want (8, 8), float32", a.Shape(), a.DType())
	}
	whole := floats(t, roberta["roberta.embeddings.position_embeddings.weight"].AsType(dtype.Float32))
	if got := floats(t, a); !slices.Equal(got, whole[16:]) {
		t.Errorf("positions %v, want %v", got, whole[16:])
	}
}

// TestPackedBERT compares sequences that share the steps of one with sequences on their own.
func TestPackedBERT(t *testing.T) {
	b, _ := tinyBERT(t, "distilbert")
	one := floats(t, b.Run(zoo.BERTInput{Words: nd.FromSlice([]float32{3, 7, 19}, 1, 3)}).Steps)
	two := floats(t, b.Run(zoo.BERTInput{Words: nd.FromSlice([]float32{5, 6}, 1, 2)}).Steps)
	both := b.Run(zoo.BERTInput{Words: nd.FromSlice([]float32{3, 7, 19, 5, 6}, 1, 5),
		Positions: nd.FromSlice([]float32{0, 1, 2, 0, 1}, 1, 5),
		Mask: nd.FromSlice([]float32{1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1,
			0, 0, 0, 1, 1}, 1, 5, 5)}).Steps
	for i, x := range floats(t, both) {
		if want := append(one, two...)[i]; x-want > 1e-5 || want-x > 1e-5 {
			t.Errorf("element %d: %v, want %v", i, x, want)
		}
	}
}

// TestLoadBERTErrors demands errors that name the thing.
func TestLoadBERTErrors(t *testing.T) {
	_, arrays := tinyBERT(t, "bert")
	for _, c := range []struct{ old, new, lack, want string }{
		{`"bert"`, `"t5"`, "", `model_type "t5"`},
		{`"gelu"`, `"relu"`, "", `activation "relu"`},
		{`"absolute"`, `"relative_key"`, "", "position_embedding_type"},
		{`"hidden_size": 8`, `"hidden_size": 1000000`, "", "has shape (10, 8), by config.json"},
		{`heads": 2`, `heads": 3`, "", "no multiple"},
		{`layers": 1`, `layers": 2`, "", `no array "encoder.layer.1.intermediate.dense.weight"`},
		{"", "", "bert.encoder.layer.0.output.dense.bias", `no array "encoder.layer.0.output.dense.bias"`},
	} {
		list := maps.Clone(arrays)
		delete(list, c.lack)
		dir := writeModel(t, strings.Replace(tinyConfig, c.old, c.new, 1), list)
		_, _, err := zoo.LoadBERT(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
}
