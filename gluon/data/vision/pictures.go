package vision

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gomx/gluon/data"
	dataio "gomx/io"
	"gomx/io/image"
)

// ImageFolder returns the pictures in the folders of root, and the names of these folders, which
// are the classes. The label of a picture is the number of its folder in sorted order, as int32. Files
// that do not end in .jpg, .jpeg or .png are left out.
//
// MXNet: gluon.data.vision.ImageFolderDataset.
func ImageFolder(root string, mode image.Mode) (set data.Dataset[data.Sample], classes []string) {
	folders, err := os.ReadDir(root)
	if err != nil {
		return failed(fmt.Errorf("vision: %w", err)), nil
	}
	var paths []string
	var labels []int32
	for _, d := range folders {
		folder := filepath.Join(root, d.Name())
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		files, err := os.ReadDir(folder)
		if err != nil {
			return failed(fmt.Errorf("vision: %w", err)), nil
		}
		for _, f := range files {
			if slices.Contains([]string{".jpg", ".jpeg", ".png"},
				strings.ToLower(filepath.Ext(f.Name()))) {
				paths = append(paths, filepath.Join(folder, f.Name()))
				labels = append(labels, int32(len(classes)))
			}
		}
		classes = append(classes, d.Name())
	}
	return data.New(len(paths), func(_ context.Context, i int, _ *rand.Rand) (data.Sample, error) {
		t, err := readPicture(paths[i], mode)
		return data.Sample{t, data.Scalar(labels[i])}, err
	}), classes
}

// ImageList returns the pictures of a list, as dataio.ReadImageList reads it from a .lst file.
// Paths are relative to root. A label is a vector of float32, or a scalar if it has one number.
//
// MXNet: gluon.data.vision.ImageListDataset.
func ImageList(root string, list []dataio.ImageEntry, mode image.Mode) data.Dataset[data.Sample] {
	return data.New(len(list), func(_ context.Context, i int, _ *rand.Rand) (data.Sample, error) {
		t, err := readPicture(filepath.Join(root, filepath.FromSlash(list[i].Path)), mode)
		return data.Sample{t, labelTensor(list[i].Label, false)}, err
	})
}

// ImageRecord returns the pictures of a RecordIO file, as gomx im2rec packs them, with their
// labels: a scalar of float32, or a vector if the record has a list of labels. The index of the file is the
// file of the same name that ends in .idx. Close closes the file.
//
// MXNet: gluon.data.vision.ImageRecordDataset.
func ImageRecord(path string, mode image.Mode) data.Dataset[data.Sample] {
	return data.Convert(data.RecordFile(path), func(record []byte, _ *rand.Rand) (data.Sample,
		error) {
		h, content, err := dataio.UnpackRecord(record)
		if err != nil {
			return nil, err
		}
		m, err := image.Decode(content, mode)
		if err != nil {
			return nil, err
		}
		return data.Sample{pictureTensor(m), labelTensor(h.Label, h.List)}, nil
	})
}

// labelTensor returns a label as a scalar, or as a vector if it is a list or has several numbers.
func labelTensor(label []float32, list bool) data.Tensor {
	if len(label) == 1 && !list {
		return data.Scalar(label[0])
	}
	return data.Values(label)
}

// readPicture decodes the picture of a file.
func readPicture(path string, mode image.Mode) (data.Tensor, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return data.Tensor{}, fmt.Errorf("vision: %w", err)
	}
	m, err := image.Decode(content, mode)
	if err != nil {
		return data.Tensor{}, fmt.Errorf("vision: %s: %w", path, err)
	}
	return pictureTensor(m), nil
}
