package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// described holds fields that every case of formats.json may have beside its own.
type described struct{ Kind, Note string }

// formatCase holds the fields from which the id of a case of formats.json is made.
type formatCase struct {
	Kind     string
	File     string
	Iterator string
	Kwargs   map[string]any
	Interp   *int
}

// formatKinds decodes the cases of each kind.
var formatKinds = map[string]func(data []byte) (func(env Env) error, error){
	"params":           decodeCase((*paramsCase).run),
	"checkpoint":       decodeCase((*checkpointCase).run),
	"symbol":           decodeCase((*symbolCase).run),
	"recordio":         decodeCase((*recordCase).run),
	"recordio_indexed": decodeCase((*recordCase).run),
	"recordio_header":  decodeCase((*headerCase).run),
	"image":            decodeCase((*imageCase).run),
	"image_resize":     decodeCase((*resizeCase).run),
	"iterator":         decodeCase((*iteratorCase).run),
}

// decodeCase turns a method of a case into a function that decodes the case from JSON.
func decodeCase[C any](run func(c *C, env Env) error) func([]byte) (func(Env) error, error) {
	return func(data []byte) (func(Env) error, error) {
		c := new(C)
		if err := decodeStrictly(data, c); err != nil {
			return nil, err
		}
		return func(env Env) error { return run(c, env) }, nil
	}
}

// formatsArchive holds the arrays of all cases.
const formatsArchive = "formats/formats.npz"

// FormatCases reads formats/formats.json.
func FormatCases(g *Golden) ([]Case, error) {
	var index struct {
		MXNet, NPZ string // NPZ: the archive of all cases
		Cases      []json.RawMessage
	}
	if err := g.JSON("formats/formats.json", &index); err != nil {
		return nil, err
	}
	if got, want := "formats/"+index.NPZ, formatsArchive; got != want {
		return nil, fmt.Errorf("conformance: formats.json: the archive is %s, want %s", got, want)
	}
	var list []Case
	for _, raw := range index.Cases {
		var c formatCase
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("conformance: formats.json: %w", err)
		}
		decode := formatKinds[c.Kind]
		if decode == nil {
			return nil, fmt.Errorf("conformance: formats.json: unknown kind %q", c.Kind)
		}
		run, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("conformance: formats.json: %s: %w", c.id(), err)
		}
		list = append(list, Case{ID: c.id(), Run: run})
	}
	return list, nil
}

// id names a case by its file or subject, so that it does not depend on the other cases.
func (c *formatCase) id() string {
	switch {
	case c.Iterator != "":
		return fmt.Sprintf("iterator/%s/%s(%s)", c.Iterator, c.File, spell(c.Kwargs))
	case c.Interp != nil:
		return fmt.Sprintf("%s/%s/%d", c.Kind, c.File, *c.Interp)
	}
	return c.Kind + "/" + c.File
}

// spell formats keyword arguments, sorted by name and without blanks.
func spell(kwargs map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(kwargs)) {
		parts = append(parts, fmt.Sprintf("%s=%v", k, kwargs[k]))
	}
	return strings.ReplaceAll(strings.Join(parts, ","), " ", ",")
}
