package vet

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// Analyzer reports the effects that tools have beside their accessors, package by
// package. It sees what a function does itself and what the functions that it calls
// by name do; calls through interfaces and function values are seen by the whole
// program alone.
var Analyzer = &analysis.Analyzer{
	Name: "sallyport",
	Doc: `report what the tools of a package touch beside the accessors of their calls

As a vettool it follows calls by name alone, within the package and through facts
of the packages that it imports. Calls through interfaces and function values are
not followed: run sallyport-vet ./... over the whole program for those.`,
	Requires:  []*analysis.Analyzer{buildssa.Analyzer},
	FactTypes: []analysis.Fact{new(effects)},
	Run:       runAnalyzer,
}

// effects is the fact about a function that has some.
type effects struct{ Found []Finding }

// AFact marks a fact.
func (*effects) AFact() {}

func (e *effects) String() string {
	var b strings.Builder
	for i, f := range e.Found {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(string(f.Kind) + ": " + f.What)
	}
	return b.String()
}

// mostFacts bounds what is told about one function.
const mostFacts = 16

func runAnalyzer(pass *analysis.Pass) (any, error) {
	if inTable(pass.Pkg.Path()) {
		return nil, nil
	}
	built := pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA)
	s := newOnePackage(pass, built)
	for _, f := range built.SrcFuncs {
		if obj := f.Object(); obj != nil {
			if found := followTool(s, ToolReport{}, f).Findings; len(found) > 0 {
				pass.ExportObjectFact(obj, &effects{found[:min(len(found), mostFacts)]})
			}
		}
		for _, t := range findTools(f) {
			if t.run == nil || packageOf(f) == rootPath+"/schema" {
				continue
			}
			for _, found := range followTool(s, ToolReport{}, t.run).Findings {
				pass.Reportf(t.at, "%s: %s (%s)", found.Kind, found.What, strings.Join(found.Chain, " -> "))
			}
		}
	}
	return nil, nil
}

// onePackage answers the questions of a walk from one package and the facts of
// those that it imports.
type onePackage struct {
	values
	pass   *analysis.Pass
	calls  map[*ssa.Function][]ssa.CallInstruction
	links  map[types.Object]bool
	asm    bool
	grants map[types.Type]bool
}

func newOnePackage(pass *analysis.Pass, built *buildssa.SSA) *onePackage {
	all := map[*ssa.Function]bool{}
	s := &onePackage{pass: pass, calls: map[*ssa.Function][]ssa.CallInstruction{}, links: map[types.Object]bool{}, grants: map[types.Type]bool{}}
	for _, f := range built.SrcFuncs {
		all[f] = true
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				if site, ok := in.(ssa.CallInstruction); ok && site.Common().StaticCallee() != nil {
					callee := site.Common().StaticCallee()
					s.calls[callee] = append(s.calls[callee], site)
				}
			}
		}
	}
	s.values = indexValues(all)
	for _, f := range pass.Files {
		noteLinks(f, pass.Pkg, s.links)
	}
	for _, f := range pass.OtherFiles {
		s.asm = s.asm || strings.HasSuffix(f, ".s")
	}
	for _, p := range append(pass.Pkg.Imports(), pass.Pkg) {
		if p.Path() == rootPath {
			s.grants = accessorTypes(p)
		}
	}
	return s
}

func (s *onePackage) calleesOf(site ssa.CallInstruction) []*ssa.Function {
	if f := site.Common().StaticCallee(); f != nil {
		return []*ssa.Function{f}
	}
	return nil
}

func (s *onePackage) callersOf(f *ssa.Function) []ssa.CallInstruction { return s.calls[f] }
func (s *onePackage) isLinked(g *ssa.Global) bool                     { return s.links[g.Object()] }
func (s *onePackage) positionOf(at token.Pos) string                  { return positionOf(s.pass.Fset, "", at) }

func (s *onePackage) isAccessor(t types.Type) bool {
	named := namedOf(t)
	return named != nil && s.grants[named]
}

// judgeBodiless returns the facts about a function of another package.
func (s *onePackage) judgeBodiless(f *ssa.Function) []Finding {
	obj := f.Object()
	if f.Origin() != nil {
		obj = f.Origin().Object()
	}
	if obj != nil && obj.Pkg() != nil && obj.Pkg() != s.pass.Pkg {
		var fact effects
		if s.pass.ImportObjectFact(obj, &fact) {
			return fact.Found
		}
		return nil
	}
	if f.Synthetic != "" || f.Syntax() == nil {
		return nil
	}
	return judgeBodiless(f, s.links, s.asm)
}
