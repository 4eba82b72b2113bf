package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/sallyport/sallyport/internal/text"
)

// re2 says what a pattern may be.
const re2 = "a pattern of RE2 syntax, without look-around and back references, and of moderate size"

// finding is a fault before it is printed. types is what was expected when
// the type was wrong; choice marks a value outside a const or enum.
type finding struct {
	path    []string
	message string
	types   []string
	choice  bool
}

// explainer turns the validator's tree of errors into findings. meta is true
// when the value is itself a schema.
type explainer struct {
	nodes    map[string]*node
	meta     bool
	findings []finding
}

func explainError(e *jsonschema.ValidationError, nodes map[string]*node, meta bool) Faults {
	x := explainer{nodes: nodes, meta: meta}
	x.visitError(e)
	faults := make(Faults, len(x.findings))
	for i, f := range x.findings {
		faults[i] = Fault{formatPointer(f.path), f.message}
	}
	if len(faults) == 0 {
		return oneFault("", "does not match the schema")
	}
	return faults.sortAndBound()
}

// addFinding adds a finding, unless there are too many to look at.
func (x *explainer) addFinding(f finding) {
	if len(x.findings) < maxFindings {
		x.findings = append(x.findings, f)
	}
}

func (x *explainer) addFault(e *jsonschema.ValidationError, format string, args ...any) {
	x.addFinding(finding{path: e.InstanceLocation, message: fmt.Sprintf(format, args...)})
}

// addPropertyFault adds a fault at a property of the place of an error.
func (x *explainer) addPropertyFault(e *jsonschema.ValidationError, name, message string) {
	x.addFinding(finding{path: append(slices.Clone(e.InstanceLocation), name), message: message})
}

func (x *explainer) addMissing(e *jsonschema.ValidationError, prop string, missing []string) {
	for _, name := range missing {
		x.addPropertyFault(e, name, "is required together with "+quoteName(prop))
	}
}

func (x *explainer) wrongType(e *jsonschema.ValidationError, types []string) {
	x.addFinding(finding{path: e.InstanceLocation, message: "must be " + typeNames(types), types: types})
}

func (x *explainer) wrongChoice(e *jsonschema.ValidationError, message string) {
	x.addFinding(finding{path: e.InstanceLocation, message: message, choice: true})
}

// visitError explains one error: those that only hold others first.
func (x *explainer) visitError(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			x.visitError(cause)
		}
	case *kind.AnyOf:
		x.explainAlternatives(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			x.addFault(e, "matches more than one of the forms that exclude each other")
			return
		}
		x.explainAlternatives(e)
	case *kind.Type:
		x.wrongType(e, k.Want)
	case *kind.Enum:
		x.wrongChoice(e, "must be one of "+formatValues(k.Want))
	case *kind.Const:
		x.wrongChoice(e, "must be "+formatValues([]any{k.Want}))
	default:
		x.explainProperties(e)
	}
}

// explainProperties explains an error of single properties, or of the value.
func (x *explainer) explainProperties(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			x.addPropertyFault(e, name, "is required"+listChoices(x.nodes[e.SchemaURL], name))
		}
	case *kind.Dependency:
		x.addMissing(e, k.Prop, k.Missing)
	case *kind.DependentRequired:
		x.addMissing(e, k.Prop, k.Missing)
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			x.addPropertyFault(e, name, "is not a known property"+suggestName(x.nodes[e.SchemaURL], name))
		}
	case *kind.PropertyNames:
		if x.meta {
			// The library names a wrong place here (see propertyNames).
			x.addFinding(finding{message: "uses the name " + quoteName(k.Property) + ", which is not allowed in its place; one of patternProperties must be " + re2})
			break
		}
		x.addPropertyFault(e, k.Property, "is not an allowed name")
	default:
		x.addFault(e, "%s", messageOf(k))
	}
}

// messageOf says what is wrong with the value itself.
func messageOf(errorKind jsonschema.ErrorKind) string {
	switch k := errorKind.(type) {
	case *kind.MinProperties:
		return "must have at least " + text.CountForms(k.Want, "property", "properties")
	case *kind.MaxProperties:
		return "must have at most " + text.CountForms(k.Want, "property", "properties")
	case *kind.MinItems:
		return "must have at least " + text.CountOf(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + text.CountOf(k.Want, "item")
	case *kind.AdditionalItems:
		return "has " + text.CountOf(k.Count, "item") + " too many"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not have equal items: %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "must have an item of the form that the schema asks for"
	case *kind.MinContains:
		return "must have at least " + text.CountOf(k.Want, "item") + " of the form that the schema asks for"
	case *kind.MaxContains:
		return "must have at most " + text.CountOf(k.Want, "item") + " of the form that the schema names"
	case *kind.MinLength:
		return "must have at least " + text.CountOf(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + text.CountOf(k.Want, "character")
	case *kind.Pattern:
		return "must match the pattern " + escapeVisible(k.Want, maxPointerSize)
	case *kind.Format:
		if k.Want == "regex" {
			return "must be " + re2
		}
		return "must be a valid " + escapeVisible(k.Want, maxQuoted)
	case *kind.Minimum:
		return "must be at least " + formatRational(k.Want)
	case *kind.Maximum:
		return "must be at most " + formatRational(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + formatRational(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + formatRational(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + formatRational(k.Want)
	case *kind.Not:
		return "must not have the form that the schema excludes"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.InvalidJsonValue:
		return "is not a JSON value"
	default:
		return "does not match the schema"
	}
}

// explainAlternatives explains a value that none of several forms accepts.
// When only one of them comes into question, its faults say more than the
// choice.
func (x *explainer) explainAlternatives(e *jsonschema.ValidationError) {
	branches := make([][]finding, 0, len(e.Causes))
	for _, cause := range e.Causes {
		sub := explainer{nodes: x.nodes, meta: x.meta}
		sub.visitError(cause)
		branches = append(branches, sub.findings)
	}
	if types := onlyTypes(branches, len(e.InstanceLocation)); types != nil {
		x.wrongType(e, types)
		return
	}
	near := nearestBranches(branches, len(e.InstanceLocation))
	if len(near) == 1 {
		for _, f := range near[0] {
			x.addFinding(f)
		}
		return
	}
	const shown = 3
	forms := joinFirst(shown, near, "; or ", fmt.Sprintf("; or %d more", len(near)-shown), func(branch []finding) string {
		return summarizeBranch(branch, len(e.InstanceLocation))
	})
	x.addFault(e, "must match one of %d forms: %s", len(branches), forms)
}

// joinFirst joins the texts of at most n items, and ends with more when there
// are others.
func joinFirst[T any](n int, list []T, separator, more string, textOf func(T) string) string {
	var b strings.Builder
	for i, item := range list[:min(n, len(list))] {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(textOf(item))
	}
	if len(list) > n {
		b.WriteString(more)
	}
	return b.String()
}

// onlyTypes returns the types that the branches want when each of them failed
// by the type of the value itself.
func onlyTypes(branches [][]finding, depth int) []string {
	var types []string
	for _, b := range branches {
		if len(b) != 1 || len(b[0].path) != depth || b[0].types == nil {
			return nil
		}
		for _, t := range b[0].types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}

// nearestBranches drops the branches that the value plainly does not aim at:
// another type, then another constant in one of its properties. It keeps all
// when it would drop all.
func nearestBranches(branches [][]finding, depth int) [][]finding {
	drop := func(far func(finding) bool) {
		var near [][]finding
		for _, b := range branches {
			if !slices.ContainsFunc(b, far) {
				near = append(near, b)
			}
		}
		if len(near) > 0 {
			branches = near
		}
	}
	drop(func(f finding) bool { return len(f.path) == depth && f.types != nil })
	drop(func(f finding) bool { return len(f.path) == depth+1 && f.choice })
	return branches
}

// summarizeBranch prints the faults of one branch, with pointers from the
// value on.
func summarizeBranch(branch []finding, depth int) string {
	faults := make(Faults, len(branch))
	for i, f := range branch {
		faults[i] = Fault{formatPointer(f.path[min(depth, len(f.path)):]), f.message}
	}
	slices.SortFunc(faults, compareFaults)
	return joinFirst(3, faults, " and ", " and more", func(f Fault) string {
		return strings.TrimPrefix(f.Pointer+" "+f.Message, " ")
	})
}

func typeNames(types []string) string {
	names := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			names[i] = t
		case "array", "integer", "object":
			names[i] = "an " + t
		default:
			names[i] = "a " + t
		}
	}
	return strings.Join(names, " or ")
}

// formatValues prints what the schema allows, as JSON, bounded.
func formatValues(list []any) string {
	const shown = 20
	return joinFirst(shown, list, ", ", fmt.Sprintf(" or %d more", len(list)-shown), func(v any) string {
		return escapeVisible(string(appendJSON(nil, v, false)), maxQuoted)
	})
}

// listChoices returns ": one of ..." for a missing property whose values the
// schema lists, so that the caller need not look for them.
func listChoices(n *node, name string) string {
	if n == nil || n.props[name] == nil {
		return ""
	}
	enum := n.props[name].schema.Enum
	if enum == nil {
		return ""
	}
	return ": one of " + formatValues(enum.Values)
}

func formatRational(r *big.Rat) string {
	if r.IsInt() {
		return escapeVisible(r.Num().String(), maxQuoted)
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
