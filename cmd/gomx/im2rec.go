package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	dataio "gomx/io"
	"gomx/io/image"
	"gomx/training"

	"github.com/spf13/cobra"
)

// im2recFlags are the flags of the command im2rec.
type im2recFlags struct {
	list, recursive, shuffle bool
	seed                     uint64
	train                    float64
	interp                   int
	encoding                 string
	labels, json             bool
	pack                     dataio.PackConfig
}

func im2recCommand() *cobra.Command {
	var f im2recFlags
	cmd := &cobra.Command{
		Use:   "im2rec PREFIX FOLDER",
		Short: "Pack a folder of pictures into a RecordIO file",
		Long: `Pack the pictures that PREFIX.lst names into the files PREFIX.rec and PREFIX.idx.
ImageRecordIter and MXNet read these files. The paths in the list are relative to FOLDER. A line of
the list has the number of a picture, its label, which may be several numbers, and its path, all
separated by tabs. The boxes of objects, which ImageDetIter reads, are such labels.

With --list, write the list PREFIX.lst and pack nothing. The list holds the pictures in FOLDER, or
with --recursive the pictures in the folders of FOLDER, where each folder is a class.`,
		Example: "  gomx im2rec --list --recursive --train-ratio 0.9 data/birds photos\n" +
			"  gomx im2rec data/birds_train photos --resize 256",
		Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return f.write(cmd.OutOrStdout(), args[0], args[1])
			}
			return f.run(cmd, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "write the list PREFIX.lst and pack nothing")
	flags.BoolVar(&f.recursive, "recursive", false, "make every folder in FOLDER a class")
	flags.BoolVar(&f.shuffle, "shuffle", true, "put the list in random order")
	flags.Uint64Var(&f.seed, "seed", 100, "seed of the shuffle order")
	flags.Float64Var(&f.train, "train-ratio", 1,
		"share of the pictures that PREFIX_train.lst gets, above 0 and at most 1; "+
			"PREFIX_val.lst gets the rest")
	flags.IntVar(&f.pack.Resize, "resize", 0,
		"length of the shorter side in pixels (default: unchanged)")
	flags.BoolVar(&f.pack.CenterCrop, "center-crop", false,
		"cut out the square in the middle of each picture")
	flags.IntVar(&f.interp, "inter-method", 1,
		"method of resizing: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 area when "+
			"shrinking and cubic when enlarging")
	flags.IntVar(&f.pack.Quality, "quality", 95, "quality of JPEG files, 1 to 100")
	flags.StringVar(&f.encoding, "encoding", ".jpg",
		"file format of the packed pictures: .jpg or .png")
	flags.BoolVar(&f.pack.Gray, "gray", false, "store grey pictures of one channel")
	flags.BoolVar(&f.pack.PassThrough, "pass-through", false,
		"store the bytes of the files unchanged")
	flags.BoolVar(&f.labels, "pack-label", true,
		"store all numbers of a label; with --pack-label=false only the first")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.IntVar(&f.pack.Threads, "num-thread", 0, "number of threads (default: one for each core)")
	return cmd
}

// write writes the list of the pictures in folder root, or the two lists that --train-ratio asks
// for.
func (f *im2recFlags) write(out io.Writer, prefix, root string) error {
	if !(f.train > 0 && f.train <= 1) {
		return usageError{fmt.Errorf("--train-ratio %v, want above 0 and at most 1", f.train)}
	}
	list, err := dataio.ListImages(root, f.recursive)
	if err != nil {
		return err
	}
	if f.shuffle {
		rand.New(rand.NewPCG(f.seed, 0)).Shuffle(len(list), func(i, j int) {
			list[i], list[j] = list[j], list[i]
		})
	}
	ends, parts := []string{".lst"}, [][]dataio.ImageEntry{list}
	if f.train < 1 {
		n := int(float64(len(list)) * f.train)
		ends, parts = []string{"_train.lst", "_val.lst"},
			[][]dataio.ImageEntry{list[:n], list[n:]}
	}
	var packs []packed
	for i, part := range parts {
		if err := toFile(prefix+ends[i], func(w io.Writer) error {
			return dataio.WriteImageList(w, part)
		}); err != nil {
			return err
		}
		packs = append(packs, packed{[]string{prefix + ends[i]}, len(part)})
	}
	return f.say(out, packs)
}

// packed says how many pictures files hold or name.
type packed struct {
	Files    []string `json:"files"`
	Pictures int      `json:"pictures"`
}

// say prints a line for each group of files, or JSON.
func (f *im2recFlags) say(w io.Writer, list []packed) error {
	if f.json {
		return json.NewEncoder(w).Encode(list)
	}
	for _, p := range list {
		_, err := fmt.Fprintf(w, "%s: %d pictures\n", strings.Join(p.Files, " and "), p.Pictures)
		if err != nil {
			return err
		}
	}
	return nil
}

// run packs the pictures of PREFIX.lst, whose paths are relative to folder root.
func (f *im2recFlags) run(cmd *cobra.Command, prefix, root string) (err error) {
	switch f.encoding {
	case ".jpg", ".jpeg":
	case ".png":
		f.pack.PNG = true
	default:
		return usageError{fmt.Errorf("--encoding %q, want .jpg or .png", f.encoding)}
	}
	if f.pack.Interp, err = image.InterpOf(f.interp); err != nil {
		return usageError{err}
	}
	list, err := dataio.ReadImageList(prefix + ".lst")
	if err != nil {
		return err
	}
	for i, e := range list {
		if !f.labels && len(e.Label) > 1 {
			list[i].Label = e.Label[:1]
		}
	}
	show, end := training.NewCounter(cmd.ErrOrStderr(), "pictures")
	f.pack.Packed = show
	err = dataio.PackImages(cmd.Context(), prefix, root, list, f.pack)
	end()
	if err != nil {
		return err
	}
	return f.say(cmd.OutOrStdout(), []packed{{[]string{prefix + ".rec", prefix + ".idx"},
		len(list)}})
}
