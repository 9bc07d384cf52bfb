package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// style says how outputs of tokens become an embedding.
type style struct {
	most   int  // tokens of a sentence; 0: as many as the network takes
	first  bool // the output of the first token; else the mean of all
	normal bool // embeddings have the length 1
}

// readStyle reads the files of sentence-transformers in a folder. A folder without them has the
// style that sentence-transformers then takes, the mean.
func readStyle(dir string) (s style, err error) {
	var limits struct {
		Most *int `json:"max_seq_length"`
	}
	if err := readJSON(filepath.Join(dir, "sentence_bert_config.json"), &limits); err != nil {
		return s, err
	}
	if limits.Most != nil {
		if s.most = *limits.Most; s.most < 1 {
			return s, fmt.Errorf("sentence_bert_config.json: max_seq_length is %d", s.most)
		}
	}
	var modules []struct{ Path, Type string }
	if err := readJSON(filepath.Join(dir, "modules.json"), &modules); err != nil {
		return s, err
	}
	for _, m := range modules {
		switch {
		case strings.HasSuffix(m.Type, ".Transformer"):
			if m.Path != "" {
				return s, fmt.Errorf("modules.json: the network lies in the folder %q, want none",
					m.Path)
			}
		case strings.HasSuffix(m.Type, ".Pooling"):
			if !filepath.IsLocal(m.Path) {
				return s, fmt.Errorf("modules.json: path %q leaves the folder", m.Path)
			}
			if s.first, err = readPooling(filepath.Join(dir, m.Path, "config.json")); err != nil {
				return s, err
			}
		case strings.HasSuffix(m.Type, ".Normalize"):
			s.normal = true
		default:
			return s, fmt.Errorf("modules.json: module %q is not supported", m.Type)
		}
	}
	return s, nil
}

// readPooling reports whether the first output is the embedding.
func readPooling(path string) (first bool, err error) {
	modes := map[string]any{}
	if err := readJSON(path, &modes); err != nil {
		return false, err
	}
	var on []string
	for name, v := range modes {
		if v == true && strings.HasPrefix(name, "pooling_mode_") {
			on = append(on, strings.TrimPrefix(name, "pooling_mode_"))
		}
	}
	switch {
	case len(on) == 0, len(on) == 1 && on[0] == "mean_tokens":
		return false, nil
	case len(on) == 1 && on[0] == "cls_token":
		return true, nil
	}
	return false, fmt.Errorf("%s: pooling %v, want mean_tokens or cls_token", path, on)
}

// readJSON reads a file; a file that does not exist leaves v as it is.
func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
