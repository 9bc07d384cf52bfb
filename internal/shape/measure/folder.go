package measure

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// folder collects the counts of one package while its files are read.
type folder struct {
	pkg     Package
	stems   map[string]bool
	methods map[string]int
	fields  map[string]int
}

func newFolder(dir string) *folder {
	return &folder{
		pkg:     Package{Path: dir},
		stems:   map[string]bool{},
		methods: map[string]int{},
		fields:  map[string]int{},
	}
}

// read adds one file; generated files do not count.
func (f *folder) read(tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	lines := scan(fset, file, string(text))
	if strings.HasSuffix(name, "_test.go") {
		f.pkg.Tests += lines.code
		return nil
	}
	f.pkg.Code += lines.code
	f.pkg.Comments += lines.comment
	f.pkg.Relative += lines.relative
	f.pkg.Long += lines.long
	f.pkg.Lines += lines.all
	f.stems[Stem(path.Base(name))] = true
	f.declarations(file)
	return nil
}

// declarations counts fields of structs and methods of types.
func (f *folder) declarations(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if name := receiver(d); name != "" {
				f.methods[name]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					f.structs(s)
				}
			}
		}
	}
}

func (f *folder) structs(s *ast.TypeSpec) {
	t, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	n := 0
	for _, field := range t.Fields.List {
		n += max(1, len(field.Names))
	}
	f.fields[s.Name.Name] = n
}

// receiver is the name of the type that a method belongs to, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// kernelSuffixes end the names of files that attach kernels to the operators of a stem.
var kernelSuffixes = []string{"_cpu", "_go", "_cuda", "_nocgo", "_cgo", "_nocuda"}

// platformSuffixes end the names of files for one platform.
var platformSuffixes = []string{"_linux", "_darwin", "_windows", "_freebsd", "_unix", "_other",
	"_amd64", "_arm64"}

// Stem is the idea that a file stands for: its name without extension, kernel and platform.
func Stem(file string) string {
	stem := strings.TrimSuffix(file, ".go")
	for _, list := range [][]string{platformSuffixes, kernelSuffixes} {
		for _, suffix := range list {
			stem = strings.TrimSuffix(stem, suffix)
		}
	}
	return stem
}

func (f *folder) finish() Package {
	p := f.pkg
	p.Stems = slices.Sorted(maps.Keys(f.stems))
	for name, n := range f.fields {
		p.Structs = append(p.Structs, Struct{name, n})
	}
	for name, n := range f.methods {
		p.Types = append(p.Types, Type{name, n})
	}
	slices.SortFunc(p.Structs, func(a, b Struct) int {
		return cmp.Or(cmp.Compare(b.Fields, a.Fields), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(p.Types, func(a, b Type) int {
		return cmp.Or(cmp.Compare(b.Methods, a.Methods), cmp.Compare(a.Name, b.Name))
	})
	if len(p.Structs) > 0 {
		p.Widest = p.Structs[0]
	}
	if len(p.Types) > 0 {
		p.Largest = p.Types[0]
	}
	return p
}
