package training

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Checkpoints says after which epochs a loop saves files, and how many of them stay. Epochs are
// counted from 1 here.
type Checkpoints struct {
	Prefix string // of the files; empty: none are saved
	Keep   int    // newest epochs whose files stay; 0: all
	Every  int    // epochs from one saving to the next; 0 is 1
}

// Due reports whether files are saved after an epoch of a run of so many epochs.
func (c *Checkpoints) Due(epoch, epochs int) bool {
	return c.Prefix != "" && (epoch%max(1, c.Every) == 0 || epoch == epochs)
}

// Saved adds an epoch to the list of saved ones, removes the files of the epochs that are too old,
// and returns the list of the others. A later epoch in the list is one of a run that was continued
// from before it.
func (c *Checkpoints) Saved(list []int, epoch int, files func(epoch int) []string) ([]int, error) {
	list = slices.DeleteFunc(list, func(n int) bool { return n >= epoch })
	list = append(list, epoch)
	for c.Keep > 0 && len(list) > c.Keep {
		for _, path := range files(list[0]) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return list[1:], fmt.Errorf("checkpoint: removing an old one: %w", err)
			}
		}
		list = list[1:]
	}
	return list, nil
}
