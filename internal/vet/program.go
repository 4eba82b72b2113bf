package vet

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// rootPath is the package that holds Tool and Call.
const rootPath = "github.com/sallyport/sallyport"

// Options say what is read.
type Options struct {
	// Dir is the folder in which the patterns are understood; empty means the
	// current one.
	Dir string
	// Env is the environment of the go command; nil means that of the process.
	Env []string
}

// Load reads the packages of the patterns with all that they import, as the go
// command would build them here, and reports on each tool in the packages of the
// patterns. The error says which packages do not compile.
func Load(o Options, patterns ...string) (*Report, error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: o.Dir, Env: o.Env}, patterns...)
	if err != nil {
		return nil, err
	}
	var faults []error
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			faults = append(faults, e)
		}
	})
	if len(faults) > 0 {
		return nil, fmt.Errorf("the program does not compile: %w", errors.Join(faults[:min(len(faults), 10)]...))
	}
	program, _ := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	program.Build()
	return newWholeProgram(program, loaded).report(loaded), nil
}

// wholeProgram answers the questions of a walk from all code at once.
type wholeProgram struct {
	values
	ssa    *ssa.Program
	graph  *callgraph.Graph
	calls  map[ssa.CallInstruction][]*ssa.Function
	links  map[types.Object]bool // names that a linkname stands for
	asm    map[string]bool       // packages with files in assembly
	left   map[string][]string   // files with cgo that this build leaves out
	grants map[types.Type]bool   // types of accessors
	dir    string
}

func newWholeProgram(program *ssa.Program, loaded []*packages.Package) *wholeProgram {
	all := ssautil.AllFunctions(program)
	w := &wholeProgram{
		ssa: program, graph: vta.CallGraph(all, nil), calls: map[ssa.CallInstruction][]*ssa.Function{},
		links: map[types.Object]bool{}, asm: map[string]bool{}, left: map[string][]string{},
	}
	w.dir, _ = filepath.Abs(".")
	for _, node := range w.graph.Nodes {
		for _, e := range node.Out {
			if e.Site != nil {
				w.calls[e.Site] = append(w.calls[e.Site], e.Callee.Func)
			}
		}
	}
	w.values = indexValues(all)
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Types == nil || inTable(p.PkgPath) {
			return
		}
		for _, f := range p.Syntax {
			noteLinks(f, p.Types, w.links)
		}
		for _, f := range p.OtherFiles {
			if strings.HasSuffix(f, ".s") {
				w.asm[p.PkgPath] = true
			}
		}
		for _, f := range p.IgnoredFiles {
			if usesCgo(f) {
				w.left[p.PkgPath] = append(w.left[p.PkgPath], filepath.Base(f))
			}
		}
	})
	if p := program.ImportedPackage(rootPath); p != nil {
		w.grants = accessorTypes(p.Pkg)
	}
	return w
}

// noteLinks adds the names of the package that stand for those of another one.
func noteLinks(f *ast.File, pkg *types.Package, links map[types.Object]bool) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			words := strings.Fields(c.Text)
			if len(words) == 3 && words[0] == "//go:linkname" {
				if o := pkg.Scope().Lookup(words[1]); o != nil {
					links[o] = true
				}
			}
		}
	}
}

// accessorTypes lists the interfaces that the fields of Call hold, and those that
// their methods return.
func accessorTypes(root *types.Package) map[types.Type]bool {
	grants := map[types.Type]bool{}
	call, ok := root.Scope().Lookup("Call").(*types.TypeName)
	if !ok {
		return grants
	}
	var add func(t types.Type)
	add = func(t types.Type) {
		named, ok := types.Unalias(t).(*types.Named)
		if !ok || grants[named] || named.Obj().Pkg() != root {
			return
		}
		iface, ok := named.Underlying().(*types.Interface)
		if !ok {
			return
		}
		grants[named] = true
		for i := range iface.NumEmbeddeds() {
			add(iface.EmbeddedType(i))
		}
		for i := range iface.NumMethods() {
			results := iface.Method(i).Signature().Results()
			for j := range results.Len() {
				add(results.At(j).Type())
			}
		}
	}
	fields := call.Type().Underlying().(*types.Struct)
	for i := range fields.NumFields() {
		add(fields.Field(i).Type())
	}
	return grants
}

// positionOf prints a position with a path relative to the current folder where
// that is shorter.
func positionOf(fset *token.FileSet, dir string, at token.Pos) string {
	if !at.IsValid() {
		return ""
	}
	p := fset.Position(at)
	if rel, err := filepath.Rel(dir, p.Filename); err == nil && !strings.HasPrefix(rel, "..") {
		p.Filename = rel
	}
	return p.String()
}

func (w *wholeProgram) calleesOf(site ssa.CallInstruction) []*ssa.Function {
	if f := site.Common().StaticCallee(); f != nil {
		return []*ssa.Function{f}
	}
	return w.calls[site]
}

func (w *wholeProgram) callersOf(f *ssa.Function) []ssa.CallInstruction {
	var sites []ssa.CallInstruction
	if node := w.graph.Nodes[f]; node != nil {
		for _, e := range node.In {
			if e.Site != nil {
				sites = append(sites, e.Site)
			}
		}
	}
	return sites
}

func (w *wholeProgram) isLinked(g *ssa.Global) bool    { return w.links[g.Object()] }
func (w *wholeProgram) positionOf(at token.Pos) string { return positionOf(w.ssa.Fset, w.dir, at) }

func (w *wholeProgram) isAccessor(t types.Type) bool {
	named := namedOf(t)
	return named != nil && w.grants[named]
}

func (w *wholeProgram) judgeBodiless(f *ssa.Function) []Finding {
	return judgeBodiless(f, w.links, w.asm[packageOf(f)])
}

// judgeBodiless says what a function without a body is.
func judgeBodiless(f *ssa.Function, links map[types.Object]bool, assembly bool) []Finding {
	switch {
	case strings.HasPrefix(f.Name(), "_cgo_"):
		return []Finding{{Kind: KindCgo, What: f.String()}}
	case links[f.Object()]:
		return []Finding{{Kind: KindLink, What: f.String()}}
	case assembly:
		return []Finding{{What: f.String() + " is written in assembly"}}
	default:
		return []Finding{{What: f.String() + " has no body here"}}
	}
}

// report follows every tool of the packages, and what runs when they start.
func (w *wholeProgram) report(loaded []*packages.Package) *Report {
	r := &Report{Tools: []ToolReport{}, Unknown: []Finding{}}
	wanted := map[*types.Package]bool{}
	for _, p := range loaded {
		wanted[p.Types] = true
	}
	starts := map[*ssa.Package]bool{}
	for f := range ssautil.AllFunctions(w.ssa) {
		if f.Pkg == nil || !wanted[f.Pkg.Pkg] || packageOf(f) == rootPath+"/schema" {
			continue
		}
		for _, t := range findTools(f) {
			at := w.positionOf(t.at)
			if t.run == nil {
				r.Unknown = append(r.Unknown, Finding{What: "the Run function of a tool that only the run knows", At: at, Chain: []string{f.RelString(nil)}})
				continue
			}
			name := t.name
			if name == "" {
				name = t.run.RelString(nil)
			}
			r.Tools = append(r.Tools, w.withLeftOut(followTool(w, ToolReport{Tool: name, At: at}, t.run), packageOf(t.run)))
			starts[f.Pkg] = true
		}
	}
	for p := range starts {
		if start := p.Func("init"); start != nil {
			r.Tools = append(r.Tools, followTool(w, ToolReport{Tool: "start of " + p.Pkg.Path(), At: w.positionOf(start.Pos())}, start))
		}
	}
	r.sortAll()
	return r
}

// withLeftOut says of a package's files with cgo that they are not in this build.
func (w *wholeProgram) withLeftOut(t ToolReport, pkg string) ToolReport {
	for _, name := range w.left[pkg] {
		t.NotShown = append(t.NotShown, Finding{What: name + " uses cgo, and this build leaves it out", Chain: []string{pkg}})
	}
	return t
}

// usesCgo reports whether a file imports "C".
func usesCgo(name string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return false
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"C"` {
			return true
		}
	}
	return false
}
