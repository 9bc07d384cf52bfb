package narrow

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gomx/device"
)

// record is the measurement of one model in the file, by names of classes.
type record struct {
	Processor string             `json:"processor"`
	Speed     map[string]float64 `json:"speed"`
}

// most bounds the number of models in a file, which hosts may share; the oldest go first.
const most = 64

// fileIn returns the path of the file in a folder.
func fileIn(folder string) string { return filepath.Join(folder, "bfloat16.json") }

// load returns the speeds of a model in the file of a folder.
func load(folder, model string) (map[device.Product]float64, error) {
	text, err := os.ReadFile(fileIn(folder))
	if err != nil {
		return nil, err
	}
	list, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileIn(folder), err)
	}
	for _, r := range list {
		if r.Processor == model {
			return r.speeds()
		}
	}
	return nil, fmt.Errorf("%s: no record of %q", fileIn(folder), model)
}

// parse reads the text of a file.
func parse(text []byte) ([]record, error) {
	var list []record
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, r := range list {
		if _, err := r.speeds(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *record) speeds() (map[device.Product]float64, error) {
	speed := map[device.Product]float64{}
	for name, v := range r.Speed {
		set, err := device.ParseProducts(name)
		if err != nil || len(set.List()) != 1 || !(v > 0) {
			return nil, fmt.Errorf("processor %q: speed %v of %q, want a positive number of a "+
				"class of products", r.Processor, v, name)
		}
		speed[set.List()[0]] = v
	}
	return speed, nil
}

// keep adds the speeds of a model to the file of a folder. A file that cannot be read is replaced.
// Of processes that write at once the last one wins; the others measure once more.
func keep(folder, model string, speed map[device.Product]float64) error {
	var list []record
	if text, err := os.ReadFile(fileIn(folder)); err == nil {
		list, _ = parse(text) // a file with an error is replaced
	}
	list = slices.DeleteFunc(list, func(r record) bool { return r.Processor == model })
	r := record{Processor: model, Speed: map[string]float64{}}
	for p, v := range speed {
		r.Speed[p.String()] = v
	}
	list = append(list, r)
	text, err := json.MarshalIndent(list[max(0, len(list)-most):], "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "bfloat16-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), fileIn(folder))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
