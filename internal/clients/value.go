package clients

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Ref is a reference in a value that nothing here can look up.
type Ref struct {
	// Kind is env, input, or what else stands before the name; empty for what
	// is no reference that is known.
	Kind string
	// Name is what is referred to.
	Name string
	// Text is the reference as it stands.
	Text string
	// Default is the text in its place when there is none.
	Default string
	// HasDefault says that the reference names one.
	HasDefault bool
}

// String is the reference without its default, which may be a secret.
func (r Ref) String() string {
	if r.Kind == "" || r.Kind == "env" && r.Text == "${"+r.Name+"}" || r.HasDefault {
		return "${" + r.Name + "}"
	}
	return "${" + r.Kind + ":" + r.Name + "}"
}

var (
	editorRef = regexp.MustCompile(`\$\{([^{}]*)\}`)
	shellRef  = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}`)
)

// Expand returns a text with the folders that it refers to in their place, and
// the references that remain.
func (c *Client) Expand(text, home, project string) (expanded string, refs []Ref) {
	switch c.Variables {
	case EditorVariables:
		expanded = editorRef.ReplaceAllStringFunc(text, func(found string) string {
			ref := editorRef.FindStringSubmatch(found)[1]
			if folder, ok := editorFolder(ref, home, project); ok {
				return folder
			}
			kind, name, ok := strings.Cut(ref, ":")
			if !ok {
				kind, name = "", ref
			}
			refs = append(refs, Ref{Kind: kind, Name: name, Text: found})
			return found
		})
		return expanded, refs
	case ShellVariables:
		for _, m := range shellRef.FindAllStringSubmatchIndex(text, -1) {
			r := Ref{Kind: "env", Name: text[m[2]:m[3]], Text: text[m[0]:m[1]], HasDefault: m[4] >= 0}
			if r.HasDefault {
				r.Default = text[m[4]:m[5]]
			}
			refs = append(refs, r)
		}
		return text, refs
	default:
		return text, nil
	}
}

// editorFolder is what a reference to a folder means.
func editorFolder(ref, home, project string) (text string, ok bool) {
	switch ref {
	case "userHome":
		return home, home != ""
	case "workspaceFolder", "workspaceRoot", "cwd":
		return project, project != ""
	case "workspaceFolderBasename":
		return filepath.Base(project), project != ""
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	default:
		return "", false
	}
}
