package house_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// nameFigures count the words in the names of functions, methods and types of
// the module, without tests and generated files.
type nameFigures struct {
	functions, oneWordFunctions int                 // unexported, without a receiver
	methods, oneWordMethods     int                 // unexported
	all, words                  int                 // functions and methods, exported ones too
	types                       map[string][]string // packages by unexported type
}

// countWords counts the words of a name in camel case. Neighbouring capitals
// are one word: "newHTTPClient" has three.
func countWords(name string) int {
	n, afterLower := 1, false
	runes := []rune(name)
	for i, r := range runes {
		beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if i > 0 && unicode.IsUpper(r) && (afterLower || beforeLower) {
			n++
		}
		afterLower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	return n
}

// countFile adds the names of one file.
func (f *nameFigures) countFile(dir string, file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			f.countFunction(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if ok && !t.Name.IsExported() && !slices.Contains(f.types[t.Name.Name], dir) {
					f.types[t.Name.Name] = append(f.types[t.Name.Name], dir)
				}
			}
		}
	}
}

func (f *nameFigures) countFunction(d *ast.FuncDecl) {
	n := countWords(d.Name.Name)
	f.all++
	f.words += n
	if d.Name.IsExported() || d.Name.Name == "main" || d.Name.Name == "init" {
		return
	}
	all, one := &f.functions, &f.oneWordFunctions
	if d.Recv != nil {
		all, one = &f.methods, &f.oneWordMethods
	}
	*all++
	if n == 1 {
		*one++
	}
}

// A name of one word says what is done or to what, seldom both. The bounds
// leave room for receivers that are the object, as in file.close.
func TestNamesHaveAVerbAndAnObject(t *testing.T) {
	f := nameFigures{types: map[string][]string{}}
	for dir, files := range packages(t) {
		for _, file := range files {
			if !ast.IsGenerated(file) {
				f.countFile(dir, file)
			}
		}
	}
	if f.functions == 0 || f.methods == 0 {
		t.Fatalf("%d functions and %d methods: nothing was counted", f.functions, f.methods)
	}
	part := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	functions, methods := part(f.oneWordFunctions, f.functions), part(f.oneWordMethods, f.methods)
	mean := float64(f.words) / float64(f.all)
	t.Logf("one word: %.0f %% of %d functions, %.0f %% of %d methods; %.2f words in a name", functions, f.functions, methods, f.methods, mean)
	if functions > 20 || methods > 60 || mean < 1.9 {
		t.Errorf("one word: %.0f %% of functions and %.0f %% of methods, %.2f words in a name; want at most 20, at most 60, at least 1.9", functions, methods, mean)
	}
	for name, dirs := range f.types {
		if len(dirs) >= 3 {
			t.Errorf("type %s stands in %s: one word means one idea", name, strings.Join(dirs, ", "))
		}
	}
}

func TestWordsOfANameAreCounted(t *testing.T) {
	for name, want := range map[string]int{"take": 1, "popResult": 2, "newHTTPClient": 3, "URL": 1, "sha256Of": 2, "parseX509Name": 3} {
		if got := countWords(name); got != want {
			t.Errorf("countWords(%q) = %d, want %d", name, got, want)
		}
	}
}
