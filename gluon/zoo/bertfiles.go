package zoo

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gomx/checkpoint/safetensors"
	nd "gomx/ndarray"
)

// LoadBERT makes a network of a model of Hugging Face, a folder with config.json and
// model.safetensors or its index: of the types bert, distilbert, and roberta with its kin camembert
// and xlm-roberta. The network has the parts that the file has parameters for: the pooler, the
// classifier of the next sentence, the decoder of masked words. Parameters are float32, whatever
// the file has. rest are the names of arrays that belong to other parts, such as a classifier that
// was trained for one task.
//
// DistilBERT and RoBERTa have no kinds of segments that matter: NoTokenTypes is set for DistilBERT,
// and RoBERTa has one kind. RoBERTa counts positions from its padding token on; the rows before are
// left out, so that MaxLength is 512 for 514 rows.
func LoadBERT(dir string) (b *BERT, rest []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, nil, err
	}
	h, err := readBERTConfig(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, "config.json"), err)
	}
	path := filepath.Join(dir, "model.safetensors")
	if _, err := os.Stat(path); err != nil {
		path += ".index.json"
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, rest, err = h.load(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, rest, nil
}

// huggingBERT is a configuration of Hugging Face and the names of its arrays.
type huggingBERT struct {
	config BERTConfig
	names  []bertName
	first  int // rows of the codes of positions that no position has
}

// A bertName pairs parameters, by the begin of their names here and in files.
type bertName struct{ ours, theirs string }

// Types of models of Hugging Face. In names of layers # stands for the number of the layer.
var (
	huggingEmbeddings = []bertName{
		{"word_embed.0.weight", "embeddings.word_embeddings.weight"},
		{"encoder.position_weight", "embeddings.position_embeddings.weight"},
		{"token_type_embed.0.weight", "embeddings.token_type_embeddings.weight"},
		{"encoder.layer_norm.gamma", "embeddings.LayerNorm.weight"},
		{"encoder.layer_norm.beta", "embeddings.LayerNorm.bias"},
	}
	huggingLayers = []bertName{
		{"attention_cell.proj_query", "encoder.layer.#.attention.self.query"},
		{"attention_cell.proj_key", "encoder.layer.#.attention.self.key"},
		{"attention_cell.proj_value", "encoder.layer.#.attention.self.value"},
		{"proj", "encoder.layer.#.attention.output.dense"},
		{"layer_norm", "encoder.layer.#.attention.output.LayerNorm"},
		{"ffn.ffn_1", "encoder.layer.#.intermediate.dense"},
		{"ffn.ffn_2", "encoder.layer.#.output.dense"},
		{"ffn.layer_norm", "encoder.layer.#.output.LayerNorm"},
	}
	distilLayers = []bertName{
		{"attention_cell.proj_query", "transformer.layer.#.attention.q_lin"},
		{"attention_cell.proj_key", "transformer.layer.#.attention.k_lin"},
		{"attention_cell.proj_value", "transformer.layer.#.attention.v_lin"},
		{"proj", "transformer.layer.#.attention.out_lin"},
		{"layer_norm", "transformer.layer.#.sa_layer_norm"},
		{"ffn.ffn_1", "transformer.layer.#.ffn.lin1"},
		{"ffn.ffn_2", "transformer.layer.#.ffn.lin2"},
		{"ffn.layer_norm", "transformer.layer.#.output_layer_norm"},
	}
	bertDecoder = []bertName{
		{"decoder.0.weight", "cls.predictions.transform.dense.weight"},
		{"decoder.0.bias", "cls.predictions.transform.dense.bias"},
		{"decoder.2.gamma", "cls.predictions.transform.LayerNorm.weight"},
		{"decoder.2.beta", "cls.predictions.transform.LayerNorm.bias"},
		{"decoder.3.bias", "cls.predictions.bias"},
	}
	distilDecoder = []bertName{
		{"decoder.0.weight", "vocab_transform.weight"}, {"decoder.0.bias", "vocab_transform.bias"},
		{"decoder.2.gamma", "vocab_layer_norm.weight"}, {"decoder.2.beta", "vocab_layer_norm.bias"},
		{"decoder.3.bias", "vocab_projector.bias"},
	}
	robertaDecoder = []bertName{
		{"decoder.0.weight", "lm_head.dense.weight"}, {"decoder.0.bias", "lm_head.dense.bias"},
		{"decoder.2.gamma", "lm_head.layer_norm.weight"},
		{"decoder.2.beta", "lm_head.layer_norm.bias"},
		{"decoder.3.bias", "lm_head.bias"},
	}
)

// bertJSON is config.json.
type bertJSON struct {
	Type       string  `json:"model_type"`
	Vocab      int     `json:"vocab_size"`
	Units      int     `json:"hidden_size"`
	Hidden     int     `json:"intermediate_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	MaxLength  int     `json:"max_position_embeddings"`
	Types      int     `json:"type_vocab_size"`
	Activation string  `json:"hidden_act"`
	Eps        float64 `json:"layer_norm_eps"`
	Positions  string  `json:"position_embedding_type"`
	Pad        *int    `json:"pad_token_id"`
	Decoder    bool    `json:"is_decoder"`
}

// distilJSON has the names of DistilBERT for some fields of bertJSON.
type distilJSON struct {
	Dim        int    `json:"dim"`
	HiddenDim  int    `json:"hidden_dim"`
	NumLayers  int    `json:"n_layers"`
	NumHeads   int    `json:"n_heads"`
	Activation string `json:"activation"`
}

// readBERTConfig reads config.json.
func readBERTConfig(text []byte) (*huggingBERT, error) {
	var c bertJSON
	var d distilJSON
	if err := errors.Join(json.Unmarshal(text, &c), json.Unmarshal(text, &d)); err != nil {
		return nil, err
	}
	h := &huggingBERT{names: slices.Clone(huggingEmbeddings)}
	layers, decoder := huggingLayers, bertDecoder
	switch c.Type {
	case "bert":
	case "distilbert":
		c.Units, c.Hidden, c.Layers, c.Heads = d.Dim, d.HiddenDim, d.NumLayers, d.NumHeads
		c.Activation, c.Types, c.Eps = d.Activation, 0, 1e-12
		layers, decoder = distilLayers, distilDecoder
	case "roberta", "camembert", "xlm-roberta":
		h.first = 2
		if c.Pad != nil {
			h.first = *c.Pad + 1
		}
		c.MaxLength -= h.first
		decoder = robertaDecoder
	default:
		return nil, fmt.Errorf("model_type %q, want bert, distilbert, roberta, camembert or "+
			"xlm-roberta", c.Type)
	}
	if err := c.check(h.first); err != nil {
		return nil, err
	}
	h.config = BERTConfig{Vocab: c.Vocab, Units: c.Units, Hidden: c.Hidden, Layers: c.Layers,
		Heads: c.Heads, MaxLength: c.MaxLength, TokenTypes: c.Types, Eps: c.Eps,
		NoTokenTypes: c.Types == 0}
	h.name(layers, decoder)
	return h, nil
}

// check refuses sizes without sense and networks that NewBERT does not make.
func (c *bertJSON) check(first int) error {
	for _, s := range []struct {
		name string
		size int
	}{{"vocab_size", c.Vocab}, {"hidden_size", c.Units}, {"intermediate_size", c.Hidden},
		{"num_hidden_layers", c.Layers}, {"num_attention_heads", c.Heads},
		{"max_position_embeddings", c.MaxLength}} {
		if s.size <= 0 || s.size > 1<<24 {
			return fmt.Errorf("%s is %d", s.name, s.size)
		}
	}
	switch {
	case c.Activation != "gelu":
		return fmt.Errorf("activation %q, want gelu", c.Activation)
	case c.Positions != "" && c.Positions != "absolute":
		return fmt.Errorf("position_embedding_type %q, want absolute", c.Positions)
	case c.Decoder:
		return fmt.Errorf("is_decoder is true: the network reads in both directions")
	case c.Units%c.Heads != 0:
		return fmt.Errorf("hidden_size %d is no multiple of %d heads", c.Units, c.Heads)
	case c.Layers > 1000 || first < 0:
		return fmt.Errorf("%d layers, positions from %d on", c.Layers, first)
	}
	return nil
}

// name lists the names of layers, the decoder and the parts behind the encoder.
func (h *huggingBERT) name(layers, decoder []bertName) {
	kinds := func(n bertName) []bertName {
		if strings.HasSuffix(n.ours, "layer_norm") {
			return []bertName{{n.ours + ".gamma", n.theirs + ".weight"},
				{n.ours + ".beta", n.theirs + ".bias"}}
		}
		return []bertName{{n.ours + ".weight", n.theirs + ".weight"},
			{n.ours + ".bias", n.theirs + ".bias"}}
	}
	for i := range h.config.Layers {
		number := fmt.Sprint(i)
		for _, n := range layers {
			ours := "encoder.transformer_cells." + number + "." + n.ours
			h.names = append(h.names, kinds(bertName{ours,
				strings.Replace(n.theirs, "#", number, 1)})...)
		}
	}
	h.names = append(h.names, kinds(bertName{"pooler", "pooler.dense"})...)
	h.names = append(h.names, kinds(bertName{"classifier", "cls.seq_relationship"})...)
	h.names = append(h.names, decoder...)
}

// ignored are arrays without an effect of their own: places in order, and copies of the embedding.
var ignored = []string{"embeddings.position_ids", "cls.predictions.decoder.weight",
	"cls.predictions.decoder.bias", "lm_head.decoder.weight", "lm_head.decoder.bias",
	"vocab_projector.weight"}

// load makes the network and gives it the arrays of the file.
func (h *huggingBERT) load(f *safetensors.File) (*BERT, []string, error) {
	files := map[string]string{} // names in the file by names without the type of the model
	for _, name := range f.Names() {
		short := name
		for _, p := range []string{"bert.", "roberta.", "distilbert."} {
			short = strings.TrimPrefix(short, p)
		}
		short = strings.NewReplacer("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta",
			"LayerNorm.bias").Replace(short)
		files[short] = name
	}
	theirs := map[string]string{}
	for _, n := range h.names {
		theirs[n.ours] = n.theirs
	}
	has := func(ours string) bool { return files[theirs[ours]] != "" }
	h.config.NoPooler = !has("pooler.weight")
	h.config.NoClassifier = !has("classifier.weight")
	h.config.NoDecoder = !has("decoder.0.weight")
	if err := h.fits(f, files); err != nil {
		return nil, nil, err
	}
	b := NewBERT(h.config)
	values, read := map[string]*nd.Array{}, map[string]bool{}
	params := b.Net().Params()
	for _, name := range params.Names() {
		file := files[theirs[name]]
		if theirs[name] == "" { // the decoder's weight is the one of the embedding
			continue
		}
		if file == "" {
			return nil, nil, fmt.Errorf("there is no array %q", theirs[name])
		}
		a, err := f.Array(file)
		if err != nil {
			return nil, nil, err
		}
		if name == "encoder.position_weight" && h.first > 0 {
			a = a.SliceAxis(0, h.first, a.Shape()[0])
		}
		values[name], read[file] = a, true
	}
	if err := params.Set(values); err != nil {
		return nil, nil, err
	}
	var rest []string
	for _, short := range slices.Sorted(maps.Keys(files)) {
		if !read[files[short]] && !slices.Contains(ignored, short) {
			rest = append(rest, files[short])
		}
	}
	return b, rest, nil
}

// fits compares the sizes that the configuration claims with the arrays of the file, before memory
// is taken for them.
func (h *huggingBERT) fits(f *safetensors.File, files map[string]string) error {
	c, want := h.config, map[string]nd.Shape{}
	want["embeddings.word_embeddings.weight"] = nd.Shape{c.Vocab, c.Units}
	want["embeddings.position_embeddings.weight"] = nd.Shape{c.MaxLength + h.first, c.Units}
	if !c.NoTokenTypes {
		want["embeddings.token_type_embeddings.weight"] = nd.Shape{c.TokenTypes, c.Units}
	}
	for _, n := range h.names {
		if strings.HasSuffix(n.ours, "ffn_1.weight") {
			want[n.theirs] = nd.Shape{c.Hidden, c.Units}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t, ok := f.Lookup(files[name])
		if !ok {
			return fmt.Errorf("there is no array %q", name)
		}
		if !slices.Equal(t.Shape, want[name]) {
			return fmt.Errorf("array %q has shape %v, by config.json %v", files[name], t.Shape,
				want[name])
		}
	}
	return nil
}
